#include "preflight/plan/sample.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace chokepoint::preflight::plan {
namespace {

std::set<Pair> pairs_of(const Sample& sample) {
  std::set<Pair> pairs;
  for (std::size_t number = 0; number < sample.rounds(); ++number) {
    for (const Pair& pair : sample.round(number)) {
      EXPECT_TRUE(pairs.insert(pair).second) << "a pair comes twice";
    }
  }
  return pairs;
}

TEST(Sample, no_pair_comes_twice_and_everybody_is_in_every_round) {
  for (const std::size_t hosts : {2U, 7U, 16U, 100U, 1000U}) {
    const Sample sample(hosts, 5, 42);
    const std::set<Pair> pairs = pairs_of(sample);
    EXPECT_EQ(pairs.size(), sample.rounds() * (hosts / 2));
    for (std::size_t number = 0; number < sample.rounds(); ++number) {
      std::set<HostIndex> met;
      for (const auto& [a, b] : sample.round(number)) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, hosts);
        EXPECT_TRUE(met.insert(a).second);
        EXPECT_TRUE(met.insert(b).second);
      }
      EXPECT_GE(met.size() + 1, hosts);
    }
  }
}

TEST(Sample, has_no_more_rounds_than_the_tournament) {
  EXPECT_EQ(Sample(6, 100, 1).rounds(), 5U);
  EXPECT_EQ(pairs_of(Sample(6, 100, 1)).size(), 15U);
  EXPECT_EQ(Sample(1, 3, 1).rounds(), 0U);
}

TEST(Sample, its_seed_decides) {
  EXPECT_EQ(pairs_of(Sample(64, 4, 7)), pairs_of(Sample(64, 4, 7)));
  EXPECT_NE(pairs_of(Sample(64, 4, 7)), pairs_of(Sample(64, 4, 8)));
}

// Records are compared between machines: the choice may not depend on their libraries.
TEST(Sample, is_the_same_everywhere) {
  EXPECT_EQ(Sample(6, 1, 1).round(0), (Round{{2, 3}, {0, 1}, {4, 5}}));
}

TEST(Sample, no_pair_is_likelier_than_another) {
  constexpr std::size_t kSeeds = 6000;
  std::map<Pair, std::size_t> met;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Pair& pair : Sample(8, 2, seed).round(1)) {
      ++met[pair];
    }
  }
  EXPECT_EQ(met.size(), 28U);
  // A seventh of the rounds each; four standard deviations.
  for (const auto& [pair, count] : met) {
    EXPECT_NEAR(static_cast<double>(count), kSeeds / 7.0, 110) << pair.first << ' ' << pair.second;
  }
}

}  // namespace
}  // namespace chokepoint::preflight::plan
