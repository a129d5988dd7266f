// Error rates by simulation with fixed seeds: the bounds stand in docs/internals/paths.md.
#include "base/math/loss_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace chokepoint::math {
namespace {

constexpr std::size_t kSweptFlows = 64;

// Flows of which each takes one of `members` at random; number 0 loses `bad`, the others `well`.
struct Play {
  std::vector<FlowLoss> flows = {};
  std::vector<bool> is_bad = {};
};

Play play(std::mt19937_64& random, int members, std::uint64_t packets, double bad, double well) {
  Play made;
  std::uniform_int_distribution<int> member(0, members - 1);
  for (std::size_t i = 0; i < kSweptFlows; ++i) {
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

TEST(LossSplit, FlowsThatAreAlikeRarelySeemToDiffer) {
  // 0.1 % is asked for, so 12 of 4000 are passed by chance once in 1000 seeds.
  EXPECT_LE(found_of(1000, 4, 1000, 0, 0), 0);
  EXPECT_LE(found_of(1000, 4, 1000, 0.0001, 0.0001) + found_of(1000, 4, 1000, 0.001, 0.001) +
                found_of(1000, 4, 100, 0.02, 0.02) + found_of(1000, 4, 1000, 0.3, 0.3),
            12);
}

TEST(LossSplit, AMemberThatWouldBeFoundIsFound) {
  for (const int members : {2, 4, 8}) {
    const std::optional<double> least = detectable_loss(1.0 / members, kSweptFlows, 1000, 0.001);
    ASSERT_TRUE(least) << members;
    EXPECT_LE(*least, 0.02) << members;
    EXPECT_EQ(found_of(20, members, 1000, 0.001 + *least, 0.001), 20) << members;
  }
}

TEST(LossSplit, WhatIsPromisedIsNotFarBelowWhatIsPossible) {
  EXPECT_FALSE(would_find({.share = 0.125, .loss = 0.001}, kSweptFlows, 200, 0));
  EXPECT_TRUE(would_find({.share = 0.125, .loss = 0.01}, kSweptFlows, 1000, 0));
}

TEST(LossSplit, AMemberThatNoFlowMayTakeIsNotPromised) {
  // Of 16 flows none takes one of 8 members in 12 % of all sweeps.
  EXPECT_FALSE(detectable_loss(0.125, 16, 20'000, 0));
  EXPECT_FALSE(detectable_loss(0.5, 1, 20'000, 0));
  EXPECT_FALSE(detectable_loss(0.5, 64, 0, 0));
}

TEST(LossSplit, TheFlowsOfTheBadMemberAreNamed) {
  std::mt19937_64 random(3);
  int wrong = 0;
  int named = 0;
  int bad = 0;
  for (int i = 0; i < 20; ++i) {
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

TEST(LossSplit, AFlowOfFewPacketsIsUnclear) {
  std::vector<FlowLoss> flows(20, FlowLoss{.sent = 1000, .lost = 20});
  flows.resize(60, FlowLoss{.sent = 1000, .lost = 0});
  flows.push_back({.sent = 20, .lost = 0});
  flows.push_back({.sent = 0, .lost = 0});
  const std::optional<LossSplit> split = split_by_loss(flows);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->lossy.size(), 20U);
  EXPECT_EQ(split->unclear, std::vector<std::size_t>{60});
}

TEST(LossSplit, AMemberThatIsDead) {
  std::vector<FlowLoss> flows(16, FlowLoss{.sent = 100, .lost = 100});
  flows.resize(64, FlowLoss{.sent = 100, .lost = 0});
  const std::optional<LossSplit> split = split_by_loss(flows);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->lossy.size(), 16U);
  EXPECT_EQ(split->loss, 1);
  EXPECT_EQ(split->others_loss, 0);
}

TEST(LossSplit, NothingOfNothing) {
  EXPECT_FALSE(split_by_loss({}));
  EXPECT_FALSE(split_by_loss(std::vector<FlowLoss>(64)));
  EXPECT_FALSE(split_by_loss(std::vector<FlowLoss>{{.sent = 100, .lost = 100}}));
}

}  // namespace
}  // namespace chokepoint::math
