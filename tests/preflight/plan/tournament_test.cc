#include "preflight/plan/tournament.h"

#include <gtest/gtest.h>

#include <set>

namespace chokepoint::preflight::plan {
namespace {

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

}  // namespace
}  // namespace chokepoint::preflight::plan
