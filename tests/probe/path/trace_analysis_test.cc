#include "probe/path/trace_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

std::vector<Hop> hops_of_four(const std::vector<int>& answers) {
  std::vector<Hop> hops;
  for (const int answered : answers) {
    hops.push_back({.ttl = static_cast<int>(hops.size()) + 1, .sent = 4, .answered = answered});
  }
  return hops;
}

TEST(Loss, ARouterThatRationsItsAnswersLosesNothing) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 1, 4, 4})),
            (std::vector{Silence::None, Silence::RateLimited, Silence::None, Silence::None}));
}

TEST(Loss, ARouterThatNeverAnswersForwardsAllTheSame) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 0, 4})),
            (std::vector{Silence::None, Silence::Silent, Silence::None}));
}

TEST(Loss, WhatIsLostFromAHopOnToTheTargetIsThePaths) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 3, 3, 3})),
            (std::vector{Silence::None, Silence::PathLoss, Silence::PathLoss, Silence::PathLoss}));
}

TEST(Loss, MoreThanTheTargetLosesIsStillRationing) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 1, 3}))[1], Silence::RateLimited);
}

TEST(Loss, BehindTheLastAnswerNobodyKnows) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 0, 0})),
            (std::vector{Silence::None, Silence::Unknown, Silence::Unknown}));
}

TEST(Loss, ThePathsIsTheTargets) {
  EXPECT_EQ(path_loss_percent({.hops = hops_of_four({4, 1, 3}), .reached = true}), 25);
  EXPECT_EQ(path_loss_percent({.hops = hops_of_four({4, 0})}), std::nullopt);
  EXPECT_EQ(path_loss_percent({}), std::nullopt);
}

using made_up::at;
using testing::HasSubstr;

Trace traced(const std::vector<std::string>& addresses) {
  Trace trace{.source = {.address = at(addresses.front())},
              .target = {.address = at(addresses.back())},
              .reached = true};
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    Hop hop{.ttl = static_cast<int>(i), .sent = 3};
    if (addresses[i] != "*") {
      hop.addresses = {at(addresses[i])};
      hop.answered = 3;
      hop.rtt_ms = {0.1 * static_cast<double>(i)};
    }
    trace.hops.push_back(std::move(hop));
  }
  return trace;
}

// A ── r1 ── r2 ── B, each link a /30.
const std::vector<std::string> straight_there = {"10.0.0.1", "10.0.0.2", "10.0.1.2", "10.0.2.2"};
const std::vector<std::string> straight_back = {"10.0.2.2", "10.0.2.1", "10.0.1.1", "10.0.0.1"};

TEST(Symmetry, PointToPointLinksSeenFromBothEndsProveIt) {
  const Symmetry found = compare(traced(straight_there), traced(straight_back), {});
  EXPECT_EQ(found.symmetric, true);
  ASSERT_EQ(found.routers.size(), 2U);
  EXPECT_EQ(found.routers[0].forward, at("10.0.0.2"));
  EXPECT_EQ(found.routers[0].reverse, at("10.0.1.1")) << "the same router, seen from behind";
}

TEST(Symmetry, NeighboursHaveNothingBetweenThem) {
  EXPECT_EQ(
      compare(traced({"10.0.0.1", "10.0.0.2"}), traced({"10.0.0.2", "10.0.0.1"}), {}).symmetric,
      true);
}

TEST(Symmetry, UnlikeLengthsAreUnlikePaths) {
  const Symmetry found =
      compare(traced(straight_there), traced({"10.0.2.2", "10.0.2.1", "10.0.0.1"}), {});
  EXPECT_EQ(found.symmetric, false);
  EXPECT_EQ(found.why, "3 hops there, 2 back");
}

TEST(Symmetry, LinksInDifferentNetworksAreTwoRouters) {
  const Symmetry found =
      compare(traced(straight_there), traced({"10.0.2.2", "10.0.2.1", "10.9.1.1", "10.0.0.1"}), {});
  EXPECT_EQ(found.symmetric, false);
  EXPECT_THAT(found.why, HasSubstr("hop 1"));
}

TEST(Symmetry, ASilentHopLeavesItOpen) {
  const Symmetry found =
      compare(traced({"10.0.0.1", "10.0.0.2", "*", "10.0.2.2"}), traced(straight_back), {});
  EXPECT_EQ(found.symmetric, std::nullopt);
  EXPECT_EQ(found.routers[1].match, Match::Unknown);
}

// Two routers between the same two networks: r1 forwards there, r2 back.
const std::vector<std::string> by_one = {"10.0.1.1", "10.0.1.11", "10.0.2.2"};
const std::vector<std::string> by_the_other = {"10.0.2.2", "10.0.2.12", "10.0.1.1"};

TEST(Symmetry, SharedNetworksProveNothing) {
  const Symmetry found = compare(traced(by_one), traced(by_the_other), {});
  EXPECT_EQ(found.symmetric, std::nullopt);
  EXPECT_EQ(found.routers[0].match, Match::Likely);
}

TEST(Symmetry, WhereTheReverseAddressSitsDecides) {
  const net::Address reverse = at("10.0.2.12");
  EXPECT_EQ(compare(traced(by_one), traced(by_the_other), {{reverse, true}}).symmetric, true);
  EXPECT_EQ(compare(traced(by_one), traced(by_the_other), {{reverse, false}}).symmetric, false);
}

TEST(Symmetry, NumbersThatLookLikeAPointToPointNetworkDoNot) {
  const Symmetry found = compare(traced({"10.0.1.1", "10.0.1.2", "10.0.2.1"}),
                                 traced({"10.0.2.1", "10.0.2.3", "10.0.1.1"}), {});
  EXPECT_EQ(found.symmetric, std::nullopt) << ".1 and .3 are no two hosts of a network of four";
}

TEST(Symmetry, APlaceThatContradictsTheLinksLeavesItOpen) {
  const Symmetry found =
      compare(traced(straight_there), traced(straight_back), {{at("10.0.1.1"), false}});
  EXPECT_EQ(found.symmetric, std::nullopt);
  EXPECT_EQ(found.routers[0].match, Match::Unknown);
}

TEST(Symmetry, ARouterThatAlwaysAnswersAlikeIsItself) {
  EXPECT_EQ(compare(traced({"10.0.1.1", "192.0.2.7", "10.0.2.2"}),
                    traced({"10.0.2.2", "192.0.2.7", "10.0.1.1"}), {})
                .symmetric,
            true);
}

TEST(Symmetry, RoundTripsThatDoNotAddUpAreDoubted) {
  Trace forward = traced(by_one);
  forward.hops[0].rtt_ms = {2};
  forward.hops[1].rtt_ms = {20};
  Trace back = traced(by_the_other);
  back.hops[0].rtt_ms = {3};
  back.hops[1].rtt_ms = {20};
  EXPECT_EQ(compare(forward, back, {}).routers[0].match, Match::Unknown);
  back.hops[0].rtt_ms = {18};
  EXPECT_EQ(compare(forward, back, {}).routers[0].match, Match::Likely);
}

TEST(Symmetry, AnUnreachedEndLeavesItOpen) {
  Trace back = traced(straight_back);
  back.reached = false;
  const Symmetry found = compare(traced(straight_there), back, {});
  EXPECT_EQ(found.symmetric, std::nullopt);
  EXPECT_THAT(found.why, HasSubstr("back did not reach"));
}

TEST(Symmetry, BothFamiliesAreJudgedAlike) {
  EXPECT_EQ(compare(traced({"fd00:0::1", "fd00:0::2", "fd00:1::2"}),
                    traced({"fd00:1::2", "fd00:1::1", "fd00:0::1"}), {})
                .symmetric,
            true);
  EXPECT_EQ(compare(traced({"fd00:0::1", "fd00:0::2", "fd00:1::2"}),
                    traced({"fd00:1::2", "fd00:7::1", "fd00:0::1"}), {})
                .symmetric,
            false);
}

}  // namespace

}  // namespace chokepoint::probe::path
