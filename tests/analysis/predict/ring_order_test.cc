#include "analysis/predict/ring_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;

std::vector<std::string> names(const RingChoice& choice, const Ring& ring) {
  std::vector<std::string> all;
  for (const std::size_t site : ring.order) {
    all.push_back(choice.sites[site]);
  }
  return all;
}

std::vector<SitePath> paths_of(std::initializer_list<const char*> texts) {
  std::vector<SitePath> paths;
  for (const char* text : texts) {
    paths.push_back(*parse_site_path(text));
  }
  return paths;
}

TEST(RingOrder, LeavesTheSlowestPathOut) {
  const RingChoice choice = *choose_ring(
      paths_of({"a,b=1G", "b,c=100M", "c,d=1G", "a,c=500M", "b,d=500M/30ms", "a,d=50M"}));
  EXPECT_THAT(names(choice, choice.best), ElementsAre("a", "b", "d", "c"));
  EXPECT_EQ(choice.best.slowest_mbps, 500);
  EXPECT_EQ(choice.best.rtt_ms, 30);
  EXPECT_EQ(choice.worst.slowest_mbps, 50);
  ASSERT_TRUE(choice.given);
  EXPECT_EQ(choice.given->slowest_mbps, 50);
  EXPECT_TRUE(choice.is_exact);
}

TEST(RingOrder, OfPathsThatDifferByDirection) {
  const RingChoice choice =
      *choose_ring(paths_of({"a,b=1G", "b,a=10M", "b,c=1G", "c,b=10M", "c,a=1G", "a,c=10M"}));
  EXPECT_THAT(names(choice, choice.best), ElementsAre("a", "b", "c"));
  EXPECT_EQ(choice.best.slowest_mbps, 1000);
  EXPECT_EQ(choice.worst.slowest_mbps, 10);
}

TEST(RingOrder, NeedsARingOfAllSites) {
  EXPECT_FALSE(choose_ring(paths_of({"a,b=1G", "b,c=1G"})));
  EXPECT_TRUE(choose_ring(paths_of({"a,b=1G"}))) << "two sites send each other";
}

TEST(RingOrder, OfManySitesIsNoWorseThanAnyDrawn) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  constexpr std::size_t kMany = 14;
  std::vector<SitePath> paths;
  std::vector<std::vector<double>> rates(kMany, std::vector<double>(kMany, 0));
  for (std::size_t from = 0; from < kMany; ++from) {
    for (std::size_t to = from + 1; to < kMany; ++to) {
      rates[from][to] = rates[to][from] = 10 + static_cast<double>(random() % 1000);
      paths.push_back(
          {.from = std::to_string(from), .to = std::to_string(to), .rate_mbps = rates[from][to]});
    }
  }
  const RingChoice choice = *choose_ring(paths);
  EXPECT_FALSE(choice.is_exact);
  std::vector<std::size_t> order(kMany);
  for (std::size_t site = 0; site < kMany; ++site) {
    order[site] = site;
  }
  for (int draw = 0; draw < 20'000; ++draw) {
    std::ranges::shuffle(order, random);
    double slowest = 1e9;
    for (std::size_t place = 0; place < kMany; ++place) {
      slowest = std::min(slowest, rates[order[place]][order[(place + 1) % kMany]]);
    }
    ASSERT_GE(choice.best.slowest_mbps, slowest);
    ASSERT_LE(choice.worst.slowest_mbps, slowest);
  }
}

TEST(SitePath, IsTwoSitesAndARate) {
  for (const char* text :
       {"a,b", "a=1G", "a,=1G", ",b=1G", "a,a=1G", "a,b=fast", "a,b=1G/30", ""}) {
    EXPECT_FALSE(parse_site_path(text)) << text;
  }
  const SitePath path = *parse_site_path("site one,b=25GbE/1.5ms");
  EXPECT_EQ(path.from, "site one");
  EXPECT_EQ(path.rate_mbps, 25'000);
  EXPECT_EQ(path.rtt_ms, 1.5);
}

}  // namespace
}  // namespace chokepoint::analysis
