#include "preflight/coordinator/schedule.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace chokepoint::preflight::coordinator {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Schedule of(const char* effort, std::size_t hosts, Milliseconds limit = Milliseconds(0)) {
  return schedule(*effort_named(effort), hosts, 1, limit);
}

TEST(Effort, is_known_by_name) {
  EXPECT_TRUE(effort_named("default"));
  EXPECT_FALSE(effort_named("lazy"));
}

TEST(Schedule, a_quick_one_between_sixteen_takes_less_than_a_minute) {
  EXPECT_LT(estimate(of("quick", 16)), seconds(60));
  EXPECT_FALSE(of("quick", 16).is_sampled());
  EXPECT_EQ(of("quick", 16).pairs(), 120U);
}

TEST(Schedule, a_quick_one_grows_no_further) {
  EXPECT_TRUE(of("quick", 4096).is_sampled());
  EXPECT_EQ(estimate(of("quick", 4096)), estimate(of("quick", 16)));
}

TEST(Schedule, the_usual_one_takes_minutes) {
  EXPECT_LT(estimate(of("default", 16)), minutes(5));
  EXPECT_LT(estimate(of("default", 4096)), minutes(20));
}

TEST(Schedule, a_thorough_one_leaves_no_pair_out) {
  EXPECT_FALSE(of("thorough", 4096).is_sampled());
  EXPECT_EQ(of("thorough", 4096).pairs(), 4096U * 4095U / 2);
  EXPECT_EQ(of("thorough", 33).path_rounds(), 33U);
}

TEST(Schedule, a_limit_takes_rounds_away) {
  const Schedule made = of("default", 16, seconds(90));
  EXPECT_TRUE(made.is_sampled());
  EXPECT_LE(estimate(made), seconds(90));
  EXPECT_GT(made.rounds, 3U);
  EXPECT_EQ(of("default", 16, seconds(1)).rounds, 1U);
}

TEST(Schedule, its_rounds_are_the_tournaments_unless_it_is_a_sample) {
  EXPECT_EQ(of("quick", 6).round(3), Tournament(6).round(3));
  EXPECT_EQ(of("quick", 100).round(3), Sample(100, 15, 1).round(3));
}

TEST(Schedule, is_told_in_a_line) {
  EXPECT_EQ(describe(of("quick", 2)).substr(0, 15), "2 hosts, 1 pair");
  EXPECT_EQ(rough(Milliseconds(17'950)), "18 s");
  EXPECT_EQ(rough(Milliseconds(400'000)), "7 min");
  EXPECT_EQ(describe(of("quick", 16)).substr(0, 20), "16 hosts, 120 pairs,");
  EXPECT_EQ(describe(of("quick", 4096)).substr(0, 36), "4096 hosts, 30720 of 8386560 pairs, ");
}

TEST(Schedule, nobody_to_meet_is_no_work) {
  EXPECT_EQ(of("default", 1).rounds, 0U);
  EXPECT_EQ(of("default", 1).pairs(), 0U);
  EXPECT_LT(estimate(of("default", 0)), seconds(10));
}

// The hosts of a round, each as often as it is there.
std::multiset<HostIndex> met_in(const Round& round) {
  std::multiset<HostIndex> hosts;
  for (const auto& [a, b] : round) {
    hosts.insert(a);
    hosts.insert(b);
  }
  return hosts;
}

bool is_nobody_twice(const Round& round) {
  const std::multiset<HostIndex> hosts = met_in(round);
  return std::set<HostIndex>(hosts.begin(), hosts.end()).size() == hosts.size();
}

TEST(Tournament, has_nobody_to_meet_below_two) {
  EXPECT_EQ(Tournament(0).rounds(), 0U);
  EXPECT_EQ(Tournament(1).rounds(), 0U);
  EXPECT_TRUE(Tournament(1).round(0).empty());
}

TEST(Tournament, every_pair_meets_once_and_nobody_twice_in_a_round) {
  for (std::size_t hosts = 2; hosts <= 33; ++hosts) {
    const Tournament tournament(hosts);
    EXPECT_EQ(tournament.rounds(), hosts % 2 == 0 ? hosts - 1 : hosts);
    std::set<Pair> seen;
    for (std::size_t number = 0; number < tournament.rounds(); ++number) {
      const Round round = tournament.round(number);
      EXPECT_EQ(round.size(), hosts / 2);
      EXPECT_TRUE(is_nobody_twice(round)) << hosts << " hosts, round " << number;
      for (const Pair& pair : round) {
        EXPECT_LT(pair.first, pair.second);
        EXPECT_LT(pair.second, hosts);
        EXPECT_TRUE(seen.insert(pair).second) << "met twice among " << hosts;
      }
    }
    EXPECT_EQ(seen.size(), tournament.pairs());
  }
}

TEST(Tournament, one_is_left_out_once_where_their_number_is_odd) {
  const Tournament tournament(9);
  std::multiset<HostIndex> met;
  for (std::size_t number = 0; number < tournament.rounds(); ++number) {
    met.merge(met_in(tournament.round(number)));
  }
  for (HostIndex host = 0; host < 9; ++host) {
    EXPECT_EQ(met.count(host), 8U);
  }
}

TEST(Tournament, holds_between_thousands) {
  for (const std::size_t hosts : {1000U, 1001U}) {
    const Tournament tournament(hosts);
    std::vector<bool> seen(hosts * hosts, false);
    std::size_t pairs = 0;
    for (std::size_t number = 0; number < tournament.rounds(); ++number) {
      const Round round = tournament.round(number);
      ASSERT_TRUE(is_nobody_twice(round));
      for (const auto& [a, b] : round) {
        ASSERT_FALSE(seen[a * hosts + b]);
        seen[a * hosts + b] = true;
        ++pairs;
      }
    }
    EXPECT_EQ(pairs, tournament.pairs());
  }
  EXPECT_TRUE(is_nobody_twice(Tournament(4096).round(4094)));
}

bool all(const Pair& /*pair*/) { return true; }

TEST(Cut, halves_are_the_first_and_the_second) {
  const Cut cut = halves({1, 2, 5, 7, 9});
  EXPECT_EQ(cut.left, (std::vector<HostIndex>{1, 2}));
  EXPECT_EQ(cut.right, (std::vector<HostIndex>{5, 7, 9}));
}

TEST(Cut, like_stands_opposite_to_like) {
  EXPECT_EQ(across(halves({0, 1, 2, 3}), all), (Round{{0, 2}, {1, 3}}));
}

TEST(Cut, who_is_known_goes_first) {
  const auto known = [](const Pair& pair) { return pair == Pair{0, 3} || pair == Pair{1, 3}; };
  EXPECT_EQ(across(halves({0, 1, 2, 3}), known), (Round{{0, 3}, {1, 2}}));
}

TEST(Cut, nobody_is_in_two_pairs_where_groups_differ) {
  const Cut cut{.left = {4, 5, 6}, .right = {1, 2}};
  EXPECT_EQ(across(cut, all), (Round{{1, 4}, {2, 5}}));
  EXPECT_TRUE(across({.left = {1}, .right = {}}, all).empty());
}

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

}  // namespace chokepoint::preflight::coordinator
