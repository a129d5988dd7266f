#include "analysis/attribution/route.h"

#include <gtest/gtest.h>

#include "base/record/names.h"
#include "tests/analysis/attribution/made_scene.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

// a sends to b at 900 Mb/s; a's card is one of 10 Gb/s, b's of 1 Gb/s.
class Routes : public testing::Test {
 protected:
  Routes() {
    made_.host("a");
    made_.host("b", {.speed_mbps = 1000});
    ab_ = made_.connect("a", "b");
    made_.add_traffic(ab_, Direction::AToB, full_link());
  }
  Route route(const DiagnoseOptions& options = {}) {
    const MadeScene made(made_.data, options);
    return route_of(made.input, made.limit_timeline.directions.at(0));
  }
  std::optional<BetterRoute> better() {
    const MadeScene made(made_.data);
    const DirectionLimits& direction = made.limit_timeline.directions.at(0);
    return better_route(made.input, direction, route_of(made.input, direction));
  }
  // Another card at both hosts.
  void second(const std::string& at_a, const std::string& at_b, double mbps = 25'000) {
    made_.node("a").interfaces.push_back({"ens2", "physical", true, mbps, {at_a}});
    made_.node("b").interfaces.push_back({"ens2", "physical", true, mbps, {at_b}});
  }
  void probe(const std::string& document) {
    made_.node("a").probes.push_back({.kind = "tcp", .document = document});
  }

  MadeRun made_;
  std::size_t ab_ = 0;
};

TEST_F(Routes, LeadFromCardToCard) {
  const Route found = route();
  EXPECT_EQ(found.from, "a");
  EXPECT_EQ(found.to, "b");
  EXPECT_EQ(found.sender.interface, "eth0");
  EXPECT_EQ(found.line_mbps(), 1000);
  EXPECT_NEAR(found.rate_mbps, 900, 1);
  EXPECT_EQ(found.narrow_slot(), nullptr);
}

TEST_F(Routes, AreWideFromARoundTripOn) {
  EXPECT_FALSE(route().is_wan);
  EXPECT_TRUE(route({.wan_rtt_ms = 0.05}).is_wan);
  MadeTraffic far = full_link();
  far.min_rtt_us = 20'000;
  far.rtt_us = 60'000;
  made_.add_traffic(made_.connect("a", "b"), Direction::AToB, far);
  const MadeScene made(made_.data);
  EXPECT_FALSE(route_of(made.input, made.limit_timeline.directions.at(0)).is_wan);
  EXPECT_TRUE(route_of(made.input, made.limit_timeline.directions.at(2)).is_wan);
}

TEST_F(Routes, KnowTheCardsSpeedWhileItRanBetterThanBefore) {
  made_.gauge(made_.node("b"), record::kNicSpeed, "eth0", 2500);
  EXPECT_EQ(route().line_mbps(), 2500);
}

TEST_F(Routes, ASlotIsNarrowWhereItIsFilled) {
  made_.gauge(made_.node("a"), record::kPcieCeiling, "eth0", 1000);
  const Route found = route();
  ASSERT_NE(found.narrow_slot(), nullptr);
  EXPECT_EQ(found.narrow_slot()->node, "a");
}

TEST_F(Routes, ASlotIsNotNarrowWhereMostOfItIsFree) {
  made_.gauge(made_.node("a"), record::kPcieCeiling, "eth0", 4000);
  EXPECT_EQ(route().narrow_slot(), nullptr);
}

TEST_F(Routes, ASlotIsNotNarrowWhereItCarriesTheLine) {
  made_.gauge(made_.node("b"), record::kPcieCeiling, "eth0", 1000);
  EXPECT_EQ(route().narrow_slot(), nullptr);
}

TEST_F(Routes, TellOthersTrafficFromTheJobs) {
  made_.counter(made_.node("a"), record::kNicSentBytes, "eth0", 100e6);
  made_.counter(made_.node("a"), record::kJobSentBytes, "eth0", 60e6);
  EXPECT_NEAR(route().sender.others_mbps, 320, 1);
  // The other way is no concern of this one.
  made_.counter(made_.node("a"), record::kNicReceivedBytes, "eth0", 500e6);
  EXPECT_NEAR(route().sender.others_mbps, 320, 1);
}

TEST_F(Routes, KnowTheJobsBytesByItsSocketsWherePacketsWereNotSeen) {
  made_.counter(made_.node("a"), record::kNicSentBytes, "eth0", 100e6);
  const double sent_mbps = 0.6 * 900;  // 60 of 100 ms
  EXPECT_NEAR(route().sender.others_mbps, 800 - 1.05 * sent_mbps, 20);
  made_.node("a").flows.front().sockets = {};
  EXPECT_EQ(route().sender.others_mbps, 0) << "nobody knows whose they are";
}

// In every round trip is the queue of others, who were there before the job.
TEST_F(Routes, AreNotFarForAQueueThatOthersKeep) {
  MadeTraffic way = full_link();
  way.min_rtt_us = 6'000;
  way.rtt_us = 18'000;
  made_.add_traffic(made_.connect("a", "b"), Direction::AToB, way);
  way.min_rtt_us = 12'000;
  made_.add_traffic(made_.connect("a", "b"), Direction::AToB, way);
  const auto are_far = [&] {
    const MadeScene made(made_.data);
    const auto is_far = [&](std::size_t direction) {
      return route_of(made.input, made.limit_timeline.directions.at(direction)).is_wan;
    };
    return std::pair(is_far(2), is_far(4));
  };
  EXPECT_EQ(are_far(), std::pair(true, true));
  made_.counter(made_.node("a"), record::kNicSentBytes, "eth0", 480e6);
  made_.counter(made_.node("a"), record::kJobSentBytes, "eth0", 210e6);
  // Of the second one most of the usual round trip is the path's.
  EXPECT_EQ(are_far(), std::pair(false, true));
}

TEST_F(Routes, KnowOnlyWhatARecordTells) {
  made_.lose("b");
  const Route found = route();
  EXPECT_EQ(found.to, "10.0.0.2");
  EXPECT_TRUE(found.receiver.node.empty());
  EXPECT_EQ(found.line_mbps(), 10'000);
  EXPECT_FALSE(better());
}

TEST_F(Routes, WithoutInterfacesHaveNoLine) {
  made_.node("a").interfaces.clear();
  made_.node("b").interfaces.clear();
  EXPECT_FALSE(route().line_mbps());
  EXPECT_FALSE(better());
}

TEST_F(Routes, AFasterCardInACommonNetworkIsABetterWay) {
  second("10.1.0.1/24", "10.1.0.2/24");
  const auto found = better();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cause, Cause::ManagementInterface);
  EXPECT_EQ(found->interface, "ens2");
  EXPECT_EQ(found->address, "10.1.0.2");
  EXPECT_DOUBLE_EQ(found->mbps, 25'000);
}

TEST_F(Routes, BridgesOfContainersAreNoWayToAnotherHost) {
  second("172.17.0.1/16", "172.17.0.1/16");
  EXPECT_FALSE(better());
}

TEST_F(Routes, AnotherNetworkIsNoWay) {
  second("10.1.0.1/24", "10.2.0.2/24");
  EXPECT_FALSE(better());
}

TEST_F(Routes, APrefixLongerThanItsAddressIsNoNetwork) {
  second("10.1.0.1/999", "10.1.0.2/999");
  EXPECT_FALSE(better());
}

TEST_F(Routes, ALinksOwnAddressesAreNoNetwork) {
  second("fe80::1/64", "fe80::2/64");
  EXPECT_FALSE(better());
}

TEST_F(Routes, ASlowerCardIsNoBetterWay) {
  second("10.1.0.1/24", "10.1.0.2/24", 1000);
  EXPECT_FALSE(better());
}

TEST_F(Routes, ACardThatIsDownIsNoWay) {
  second("10.1.0.1/24", "10.1.0.2/24");
  made_.node("b").interfaces.back().is_up = false;
  EXPECT_FALSE(better());
}

TEST_F(Routes, ACardOfUnknownSpeedIsNoWay) {
  second("10.1.0.1/24", "10.1.0.2/24");
  made_.node("a").interfaces.back().speed_mbps.reset();
  EXPECT_FALSE(better());
}

}  // namespace
}  // namespace chokepoint::analysis
