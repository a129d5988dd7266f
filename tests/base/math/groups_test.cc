// Error rates by simulation with fixed seeds: the bounds stand in docs/internals/paths.md.
#include "base/math/groups.h"

#include <gtest/gtest.h>

#include <random>

namespace chokepoint::math {
namespace {

constexpr std::size_t kFlows = 64;
constexpr double kMinNs = 50e3;

// Medians of `noise_ns`, every `period`th flow `later_ns` later.
std::vector<std::optional<Halves>> delays(std::mt19937_64& random, double noise_ns,
                                          std::size_t period, double later_ns) {
  std::normal_distribution<double> noise(0, noise_ns);
  std::vector<std::optional<Halves>> made;
  for (std::size_t i = 0; i < kFlows; ++i) {
    const double at = i % period == 0 ? later_ns : 0;
    made.push_back(Halves{.first = at + noise(random), .second = at + noise(random)});
  }
  return made;
}

TEST(Groups, DelaysThatAreAlikeAreOneGroup) {
  std::mt19937_64 random(5);
  for (const double noise_ns : {1e3, 1e5, 1e7}) {
    int divided = 0;
    for (int i = 0; i < 500; ++i) {
      divided += groups_of(delays(random, noise_ns, 4, 0), kMinNs).size() > 1 ? 1 : 0;
    }
    EXPECT_LE(divided, 1) << noise_ns;
  }
}

TEST(Groups, ALongerMemberIsAGroupOfItsOwn) {
  std::mt19937_64 random(5);
  const auto groups = groups_of(delays(random, 10e3, 8, 200e3), kMinNs);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].members, (std::vector<std::size_t>{0, 8, 16, 24, 32, 40, 48, 56}));
  EXPECT_NEAR(groups[1].mean - groups[0].mean, 200e3, 20e3);
  EXPECT_LT(groups[1].p, kFalseAlarm);
  EXPECT_EQ(groups[0].p, 1);
}

TEST(Groups, WhatTheHostsMayDoIsNoLongerMember) {
  std::mt19937_64 random(5);
  EXPECT_EQ(groups_of(delays(random, 1e3, 4, 30e3), kMinNs).size(), 1U);
}

TEST(Groups, OneFlowThatIsLateIsNoMember) {
  std::mt19937_64 random(5);
  EXPECT_EQ(groups_of(delays(random, 1e3, kFlows, 1e6), kMinNs).size(), 1U);
}

TEST(Groups, EachOfThreeDelaysIsAGroup) {
  std::vector<std::optional<Halves>> flows;
  for (int i = 0; i < 30; ++i) {
    const double at = 1e6 * (i % 3) + 100.0 * i;
    flows.push_back(Halves{.first = at, .second = at});
  }
  flows.emplace_back();
  const auto groups = groups_of(flows, kMinNs);
  ASSERT_EQ(groups.size(), 3U);
  for (const Group& group : groups) {
    EXPECT_EQ(group.members.size(), 10U);
  }
}

TEST(Groups, ASharesIntervalHoldsIt) {
  const Share none = share_of(0, 64);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.057, 0.001);
  const Share quarter = share_of(16, 64);
  EXPECT_EQ(quarter.likely, 0.25);
  EXPECT_NEAR(quarter.low, 0.160, 0.001);
  EXPECT_NEAR(quarter.high, 0.368, 0.001);
}

// A member that drops packets carries what chance lets it: ten times as much for one flow as for
// another, and nothing at all for a third.
TEST(Groups, RatesThatLieFarApartAreOneGroupWhereAllAreSlow) {
  std::vector<std::optional<Halves>> rates;
  for (int i = 0; i < 30; ++i) {
    const double slow = 1e6 * (1 + 9 * (i % 5) / 4.0);
    rates.push_back(i % 3 == 0 ? Halves{.first = slow, .second = 2 * slow}
                               : Halves{.first = 1e9, .second = 0.9e9});
  }
  const auto groups = rate_groups(rates);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_NEAR(groups[0].mean, 0.95e9, 0.01e9);
  EXPECT_EQ(groups[1].members.size(), 10U);
  EXPECT_LT(groups[1].mean, 20e6);
}

TEST(Groups, ARateOfNothingIsTheSlowest) {
  std::vector<std::optional<Halves>> rates(12, Halves{.first = 1e9, .second = 1e9});
  rates.resize(16, Halves{});
  const auto groups = rate_groups(rates);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[1].members, (std::vector<std::size_t>{12, 13, 14, 15}));
}

TEST(Groups, RatesAreAlikeWhereAllAreKnownAndNear) {
  const auto rate = [](double mbps) {
    return std::optional(Halves{.first = mbps, .second = mbps});
  };
  EXPECT_TRUE(are_alike(std::vector{rate(100), rate(76)}));
  EXPECT_FALSE(are_alike(std::vector{rate(100), rate(74)}));
  EXPECT_FALSE(are_alike(std::vector{rate(100), std::optional<Halves>()}));
  EXPECT_FALSE(are_alike(std::vector{rate(0), rate(0)}));
  EXPECT_FALSE(are_alike({}));
}

TEST(Groups, OneOfSoManyMembers) {
  EXPECT_EQ(one_of(share_of(16, 64)), 4);
  EXPECT_EQ(one_of(share_of(13, 64)), 5);
  EXPECT_EQ(one_of(share_of(34, 64)), 2);
  EXPECT_EQ(one_of(share_of(60, 64)), std::nullopt);
  EXPECT_EQ(one_of(share_of(0, 64)), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::math
