// Error rates by simulation with fixed seeds: the bounds stand in docs/internals/paths.md.
#include "probe/paths/grouping.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace chokepoint::probe::paths {
namespace {

constexpr std::size_t kFlows = 64;

// Flows of which each takes one of `members` at random; number 0 loses `bad`, the others `well`.
struct Play {
  std::vector<FlowLoss> flows = {};
  std::vector<bool> is_bad = {};
};

Play play(std::mt19937_64& random, int members, std::uint64_t packets, double bad, double well) {
  Play made;
  std::uniform_int_distribution<int> member(0, members - 1);
  for (std::size_t i = 0; i < kFlows; ++i) {
    made.is_bad.push_back(member(random) == 0);
    std::binomial_distribution<std::uint64_t> lost(packets, made.is_bad.back() ? bad : well);
    made.flows.push_back({.sent = packets, .lost = lost(random)});
  }
  return made;
}

int found_of(int plays, int members, std::uint64_t packets, double bad, double well) {
  std::mt19937_64 random(7);
  int found = 0;
  for (int i = 0; i < plays; ++i) {
    found += split_by_loss(play(random, members, packets, bad, well).flows) ? 1 : 0;
  }
  return found;
}

TEST(Grouping, FlowsThatAreAlikeRarelySeemToDiffer) {
  // 0.1 % is asked for, so 12 of 4000 are passed by chance once in 1000 seeds.
  EXPECT_LE(found_of(1000, 4, 1000, 0, 0), 0);
  EXPECT_LE(found_of(1000, 4, 1000, 0.0001, 0.0001) + found_of(1000, 4, 1000, 0.001, 0.001) +
                found_of(1000, 4, 100, 0.02, 0.02) + found_of(1000, 4, 1000, 0.3, 0.3),
            12);
}

TEST(Grouping, AMemberThatWouldBeFoundIsFound) {
  for (const int members : {2, 4, 8}) {
    const std::optional<double> least = detectable_loss(1.0 / members, kFlows, 1000, 0.001);
    ASSERT_TRUE(least) << members;
    EXPECT_LE(*least, 0.02) << members;
    EXPECT_EQ(found_of(20, members, 1000, 0.001 + *least, 0.001), 20) << members;
  }
}

TEST(Grouping, WhatIsPromisedIsNotFarBelowWhatIsPossible) {
  EXPECT_FALSE(would_find({.share = 0.125, .loss = 0.001}, kFlows, 200, 0));
  EXPECT_TRUE(would_find({.share = 0.125, .loss = 0.01}, kFlows, 1000, 0));
}

TEST(Grouping, AMemberThatNoFlowMayTakeIsNotPromised) {
  // Of 16 flows none takes one of 8 members in 12 % of all sweeps.
  EXPECT_FALSE(detectable_loss(0.125, 16, 20'000, 0));
  EXPECT_FALSE(detectable_loss(0.5, 1, 20'000, 0));
  EXPECT_FALSE(detectable_loss(0.5, 64, 0, 0));
}

TEST(Grouping, TheFlowsOfTheBadMemberAreNamed) {
  std::mt19937_64 random(3);
  int wrong = 0;
  int named = 0;
  int bad = 0;
  for (int i = 0; i < 50; ++i) {
    const Play made = play(random, 4, 1000, 0.02, 0.0005);
    const std::optional<LossSplit> split = split_by_loss(made.flows);
    ASSERT_TRUE(split);
    EXPECT_NEAR(split->loss, 0.02, 0.004);
    EXPECT_NEAR(split->others_loss, 0.0005, 0.0005);
    EXPECT_LT(split->share.low, split->share.likely);
    EXPECT_LT(split->share.likely, split->share.high);
    bad += static_cast<int>(std::ranges::count(made.is_bad, true));
    for (const std::size_t flow : split->lossy) {
      ++named;
      wrong += made.is_bad[flow] ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(named, bad * 95 / 100);
}

TEST(Grouping, AFlowOfFewPacketsIsUnclear) {
  std::vector<FlowLoss> flows(20, FlowLoss{.sent = 1000, .lost = 20});
  flows.resize(60, FlowLoss{.sent = 1000, .lost = 0});
  flows.push_back({.sent = 20, .lost = 0});
  flows.push_back({.sent = 0, .lost = 0});
  const std::optional<LossSplit> split = split_by_loss(flows);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->lossy.size(), 20U);
  EXPECT_EQ(split->unclear, std::vector<std::size_t>{60});
}

TEST(Grouping, AMemberThatIsDead) {
  std::vector<FlowLoss> flows(16, FlowLoss{.sent = 100, .lost = 100});
  flows.resize(64, FlowLoss{.sent = 100, .lost = 0});
  const std::optional<LossSplit> split = split_by_loss(flows);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->lossy.size(), 16U);
  EXPECT_EQ(split->loss, 1);
  EXPECT_EQ(split->others_loss, 0);
}

TEST(Grouping, NothingOfNothing) {
  EXPECT_FALSE(split_by_loss({}));
  EXPECT_FALSE(split_by_loss(std::vector<FlowLoss>(64)));
  EXPECT_FALSE(split_by_loss(std::vector<FlowLoss>{{.sent = 100, .lost = 100}}));
  EXPECT_TRUE(group_by_delay({}).empty());
}

// Medians of `noise_ns`, every `period`th flow `later_ns` later.
std::vector<std::optional<FlowDelay>> delays(std::mt19937_64& random, double noise_ns,
                                             std::size_t period, double later_ns) {
  std::normal_distribution<double> noise(0, noise_ns);
  std::vector<std::optional<FlowDelay>> made;
  for (std::size_t i = 0; i < kFlows; ++i) {
    const double at = i % period == 0 ? later_ns : 0;
    made.push_back(FlowDelay{.first_ns = at + noise(random), .second_ns = at + noise(random)});
  }
  return made;
}

TEST(Grouping, DelaysThatAreAlikeAreOneGroup) {
  std::mt19937_64 random(5);
  for (const double noise_ns : {1e3, 1e5, 1e7}) {
    int divided = 0;
    for (int i = 0; i < 500; ++i) {
      divided += group_by_delay(delays(random, noise_ns, 4, 0)).size() > 1 ? 1 : 0;
    }
    EXPECT_LE(divided, 1) << noise_ns;
  }
}

TEST(Grouping, ALongerMemberIsAGroupOfItsOwn) {
  std::mt19937_64 random(5);
  const auto groups = group_by_delay(delays(random, 10e3, 8, 200e3));
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].flows, (std::vector<std::size_t>{0, 8, 16, 24, 32, 40, 48, 56}));
  EXPECT_NEAR(groups[1].typical_ns - groups[0].typical_ns, 200e3, 20e3);
  EXPECT_LT(groups[1].p, kFalseAlarm);
  EXPECT_EQ(groups[0].p, 1);
}

TEST(Grouping, WhatTheHostsMayDoIsNoLongerMember) {
  std::mt19937_64 random(5);
  EXPECT_EQ(group_by_delay(delays(random, 1e3, 4, 30e3)).size(), 1U);
}

TEST(Grouping, OneFlowThatIsLateIsNoMember) {
  std::mt19937_64 random(5);
  EXPECT_EQ(group_by_delay(delays(random, 1e3, kFlows, 1e6)).size(), 1U);
}

TEST(Grouping, EachOfThreeDelaysIsAGroup) {
  std::vector<std::optional<FlowDelay>> flows;
  for (int i = 0; i < 30; ++i) {
    const double at = 1e6 * (i % 3) + 100.0 * i;
    flows.push_back(FlowDelay{.first_ns = at, .second_ns = at});
  }
  flows.emplace_back();
  const auto groups = group_by_delay(flows);
  ASSERT_EQ(groups.size(), 3U);
  for (const DelayGroup& group : groups) {
    EXPECT_EQ(group.flows.size(), 10U);
  }
}

TEST(Grouping, ASharesIntervalHoldsIt) {
  const Share none = share_of(0, 64);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.057, 0.001);
  const Share quarter = share_of(16, 64);
  EXPECT_EQ(quarter.likely, 0.25);
  EXPECT_NEAR(quarter.low, 0.160, 0.001);
  EXPECT_NEAR(quarter.high, 0.368, 0.001);
}

}  // namespace
}  // namespace chokepoint::probe::paths
