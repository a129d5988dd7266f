#include "probe/path/mtu_search.h"

#include <gtest/gtest.h>

#include "probe/path/trace_analysis.h"
#include "tests/fakes/manual_clock.h"
#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

// Links behind one another; each either tells of its limit or drops without a word.
struct Link {
  int mtu = 1500;
  bool tells = true;
  bool names_mtu = true;
};

class MadeUpLinks final : public MtuProbe {
 public:
  explicit MadeUpLinks(std::vector<Link> links) : links_(std::move(links)) {}
  Result<MtuAnswer> try_size(int packet_bytes) override {
    for (const Link& link : links_) {
      if (packet_bytes > link.mtu) {
        return refusal_of(link);
      }
    }
    return MtuAnswer{.passage = answers ? Passage::Passed : Passage::Lost};
  }
  bool answers = true;

 private:
  static MtuAnswer refusal_of(const Link& link) {
    if (!link.tells) {
      return {};
    }
    return {.passage = Passage::TooBig,
            .mtu_bytes = link.names_mtu ? std::optional(link.mtu) : std::nullopt,
            .from = made_up::router(2)};
  }
  std::vector<Link> links_;
};

MtuFinding search(MadeUpLinks links, int interface_mtu) {
  const fakes::ManualClock clock;
  return search_mtu(links, interface_mtu, clock, clock.monotonic_ns() + 1).value_or(MtuFinding{});
}

TEST(MtuSearch, AnUnobstructedPathCarriesWhatTheInterfaceDoes) {
  const MtuFinding found = search(MadeUpLinks({Link{9000}}), 9000);
  EXPECT_EQ(found.path_mtu_bytes, 9000);
  EXPECT_EQ(found.limited_by, std::nullopt);
  EXPECT_EQ(found.black_hole_from_bytes, std::nullopt);
  EXPECT_EQ(found.tries, 2);
}

TEST(MtuSearch, ARouterThatTellsIsBelievedAndChecked) {
  const MtuFinding found = search(MadeUpLinks({{1500}, {1400}}), 1500);
  EXPECT_EQ(found.path_mtu_bytes, 1400);
  EXPECT_EQ(found.announced_bytes, 1400);
  EXPECT_EQ(found.limited_by, made_up::router(2));
  EXPECT_EQ(found.black_hole_from_bytes, std::nullopt);
  EXPECT_LE(found.tries, 4);
}

TEST(MtuSearch, LimitsBehindLimitsAreFoundOneAfterAnother) {
  EXPECT_EQ(search(MadeUpLinks({{9000}, {4000}, {1476}}), 9000).path_mtu_bytes, 1476);
}

TEST(MtuSearch, ABlackHoleIsFoundToTheByte) {
  for (int mtu = 200; mtu < 9000; mtu += 97) {
    const MtuFinding found = search(MadeUpLinks({Link{mtu, false}}), 9000);
    EXPECT_EQ(found.path_mtu_bytes, mtu);
    EXPECT_EQ(found.black_hole_from_bytes, mtu + 1);
    EXPECT_LE(found.tries, 20) << mtu;
  }
}

TEST(MtuSearch, AnEverydayBlackHoleTakesFewTries) {
  EXPECT_LE(search(MadeUpLinks({Link{1500, false}}), 9000).tries, 8);
  EXPECT_LE(search(MadeUpLinks({Link{1450, false}}), 1500).tries, 8);
}

TEST(MtuSearch, ARouterThatNamesNoMtuIsSearchedFor) {
  const MtuFinding found = search(MadeUpLinks({Link{1333, true, false}}), 1500);
  EXPECT_EQ(found.path_mtu_bytes, 1333);
  EXPECT_EQ(found.announced_bytes, std::nullopt);
  EXPECT_EQ(found.black_hole_from_bytes, std::nullopt);
}

TEST(MtuSearch, ABlackHoleBehindARouterThatTellsIsOneAllTheSame) {
  const MtuFinding found = search(MadeUpLinks({{1500}, {1300, false}}), 9000);
  EXPECT_EQ(found.path_mtu_bytes, 1300);
  EXPECT_EQ(found.black_hole_from_bytes, 1301);
}

TEST(MtuSearch, ATargetThatConfirmsNothingLeavesItUnknown) {
  MadeUpLinks links({Link{1500}});
  links.answers = false;
  const MtuFinding found = search(links, 1500);
  EXPECT_EQ(found.path_mtu_bytes, std::nullopt);
  EXPECT_FALSE(found.confirmed);
  EXPECT_EQ(found.tries, 1);
}

TEST(MtuSearch, WhatTimeCutsShortIsUnknown) {
  MadeUpLinks links({Link{1500}});
  const fakes::ManualClock clock;
  const auto found = search_mtu(links, 1500, clock, clock.monotonic_ns());
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->complete);
  EXPECT_EQ(found->path_mtu_bytes, std::nullopt);
}

std::vector<Hop> hops_of_three(const std::vector<int>& answered) {
  std::vector<Hop> hops;
  for (const int count : answered) {
    hops.push_back({.ttl = static_cast<int>(hops.size()) + 1, .sent = 3, .answered = count});
  }
  return hops;
}

TEST(BlackHole, LiesBehindTheLastHopThatSeesLargePackets) {
  const auto found = locate(hops_of_three({3, 3, 3, 3}), hops_of_three({2, 2}), 1401);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->last_before->ttl, 2);
  EXPECT_EQ(found->first_behind.ttl, 3);
}

TEST(BlackHole, SilentHopsAreSteppedOver) {
  const auto found = locate(hops_of_three({3, 0, 0, 3}), hops_of_three({2}), 1401);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->last_before->ttl, 1);
  EXPECT_EQ(found->first_behind.ttl, 4);
}

TEST(BlackHole, MayLieRightBehindThisHost) {
  const auto found = locate(hops_of_three({3, 3}), {}, 1401);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->last_before);
}

TEST(BlackHole, IsNoneWhereLargePacketsComeAsFar) {
  EXPECT_FALSE(locate(hops_of_three({3, 3}), hops_of_three({2, 1}), 1401));
}

}  // namespace
}  // namespace chokepoint::probe::path
