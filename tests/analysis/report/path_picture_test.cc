#include "analysis/report/path_picture.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "analysis/report/report_document.h"
#include "base/record/names.h"
#include "tests/analysis/made_probe.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::DoubleNear;
using testing::Optional;

// a sends to b at 900 Mb/s in 200 of each 400 ms.
class PathPictureOf : public testing::Test {
 protected:
  PathPictureOf() {
    made_.host("a");
    made_.host("b");
    MadeTraffic way = full_link();
    way.busy_ms = 200;
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, way);
  }

  std::vector<PathPicture> paths(double wan_rtt_ms = 2) {
    const Clocks clocks = fit_clocks(made_.data);
    return path_pictures(made_.data, clocks,
                         flow_table(made_.data, clocks, nullptr, made_.span().start_ns),
                         wan_rtt_ms);
  }
  PathPicture path(double wan_rtt_ms = 2) { return paths(wan_rtt_ms).at(0); }
  void probe(const char* node, const char* direction, const char* address, double mbps) {
    made_.node(node).probes.push_back(
        {.kind = "tcp",
         .document = made_tcp(named<documents::Direction>(direction).value(), address, mbps)});
  }

  MadeRun made_{{.step_ms = 400, .steps = 5}};
};

TEST_F(PathPictureOf, APathWithAQueueBeforeItIsFullWhateverItsInterfaceSays) {
  const Inquiry inquiry = inquire(made_.data);
  ASSERT_TRUE(inquiry.limit_timeline);
  const PathPicture full =
      path_pictures(
          made_.data, inquiry.clocks,
          flow_table(made_.data, inquiry.clocks, &*inquiry.limit_timeline, made_.span().start_ns),
          2)
          .at(0);
  EXPECT_EQ(full.limit(), PathLimit::Full);
  EXPECT_EQ(full.possible_mbps(), full.reached_mbps);
  EXPECT_EQ(path().full_mbps, std::nullopt);
}

TEST_F(PathPictureOf, IsOneForEachWayThatCarriedSomething) {
  ASSERT_EQ(paths().size(), 1);
  EXPECT_EQ(path().from, "a");
  EXPECT_EQ(path().to, "b");
  EXPECT_EQ(path().family, "ipv4");
  made_.add_traffic(0, Direction::BToA, {.busy_ms = 10});
  EXPECT_EQ(paths().size(), 2);
}

TEST_F(PathPictureOf, TellsHowFastItWent) {
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(900, 1)));
  EXPECT_THAT(path().mean_busy_mbps, Optional(DoubleNear(900, 1)));
  made_.node("a").flows[0].sockets[0].clear();
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(900, 1)));
  EXPECT_THAT(path().mean_busy_mbps, Optional(DoubleNear(900, 1)));
}

TEST_F(PathPictureOf, IsNotSlowerForExchangingInShortBursts) {
  MadeRun made({.step_ms = 100});
  made.host("a");
  made.host("b");
  made.add_traffic(made.connect("a", "b"), Direction::AToB, full_link());
  made_.data = made.data;
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(900, 1)));
  made_.node("a").flows[0].sockets[0].clear();
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(900, 1)));
}

TEST_F(PathPictureOf, TellsThePaceOfCoarseSamples) {
  std::erase_if(made_.node("a").flows[0].sockets[0], [&](const record::SocketSample& sample) {
    return (sample.t_ns - made_.span().start_ns) % 1'000'000'000 != 0;
  });
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(900, 1)));
  EXPECT_THAT(path().mean_busy_mbps, Optional(DoubleNear(900, 1)));
}

TEST_F(PathPictureOf, AddsUpConnectionsThatRunTogether) {
  MadeTraffic half = full_link();
  half.busy_ms = 100;  // the second half of the other's time
  made_.add_traffic(made_.connect("a", "b"), Direction::AToB, half);
  ASSERT_EQ(paths().size(), 1);
  EXPECT_THAT(path().reached_mbps, Optional(DoubleNear(1800, 1)));
  EXPECT_THAT(path().mean_busy_mbps, Optional(DoubleNear(1350, 1)));
}

TEST_F(PathPictureOf, IsWideAreaFromItsRoundTripOn) {
  EXPECT_THAT(path(0.1).is_wan, Optional(true));
  EXPECT_THAT(path(0.2).is_wan, Optional(false));
}

TEST_F(PathPictureOf, KnowsNoKindOfPathWithoutARoundTrip) {
  for (NodeData& node : made_.data.nodes) {
    for (record::FlowSample& sample : node.flows[0].packets[0]) {
      sample.min_rtt_us = {};
    }
    for (record::SocketSample& sample : node.flows[0].sockets[0]) {
      sample.min_rtt_us = {};
    }
  }
  EXPECT_FALSE(path().is_wan);
  EXPECT_FALSE(path().min_rtt_ms);
}

TEST_F(PathPictureOf, IsBoundByTheSlowerInterface) {
  made_.node("b").interfaces[0].speed_mbps = 2500;
  EXPECT_THAT(path().interface_mbps, Optional(2500.0));
  EXPECT_THAT(path().possible_mbps(), Optional(2500.0));
  EXPECT_EQ(path().limit(), PathLimit::Interface);
}

TEST_F(PathPictureOf, IsBoundByANarrowerSlot) {
  made_.gauge(made_.node("b"), record::kPcieCeiling, "eth0", 6300);
  EXPECT_THAT(path().possible_mbps(), Optional(6300.0));
  EXPECT_EQ(path().limit(), PathLimit::Pcie);
}

TEST_F(PathPictureOf, IsBoundByWhatAProbeMeasuredThatWay) {
  probe("b", "send", "10.0.0.1", 1000);  // the other way
  probe("a", "send", "10.0.0.9", 1000);  // to somebody else
  EXPECT_FALSE(path().probe_mbps);
  probe("b", "receive", "10.0.0.1", 950);
  EXPECT_THAT(path().probe_mbps, Optional(950.0));
  EXPECT_EQ(path().limit(), PathLimit::Probe);
  probe("a", "send", "10.0.0.2", 5000);
  EXPECT_THAT(path().probe_mbps, Optional(5000.0));
}

TEST_F(PathPictureOf, IsNotBoundByAProbeOfTheOtherFamily) {
  made_.node("b").interfaces[0].addresses.emplace_back("fd00::b/64");
  probe("a", "send", "fd00::b", 950);
  EXPECT_FALSE(path().probe_mbps);
  ASSERT_TRUE(path().other_way);
  EXPECT_EQ(path().other_way->address, "fd00::b");
}

TEST_F(PathPictureOf, TellsOfAnotherWayThatAProbeTook) {
  made_.node("b").interfaces.push_back({.name = "eth1", .addresses = {"10.1.0.2/24"}});
  probe("a", "send", "10.1.0.2", 5000);
  probe("a", "send", "10.0.0.2", 950);
  EXPECT_THAT(path().probe_mbps, Optional(950.0));
  ASSERT_TRUE(path().other_way);
  EXPECT_EQ(path().other_way->address, "10.1.0.2");
  EXPECT_DOUBLE_EQ(path().other_way->mbps, 5000);
}

TEST_F(PathPictureOf, IsNotBoundByWhatTheJobWentBeyond) {
  made_.node("a").interfaces[0].speed_mbps = 10;  // as a tunnel may say
  EXPECT_THAT(path().interface_mbps, Optional(10.0));
  EXPECT_FALSE(path().possible_mbps());
  EXPECT_TRUE(json::to_json(paths())[0]["limit"].is_null());
  probe("a", "send", "10.0.0.2", 850);  // as fast, for a probe
  EXPECT_THAT(path().possible_mbps(), Optional(850.0));
}

TEST_F(PathPictureOf, LeadsToAnAddressWhereNoRecordIs) {
  made_.lose("b");
  EXPECT_EQ(path().to, "10.0.0.2");
  EXPECT_THAT(path().interface_mbps, Optional(10'000.0));
  EXPECT_EQ(path().source, "flow or socket samples and interfaces of a");
}

TEST_F(PathPictureOf, TellsWhatWasSentAgain) {
  made_.node("a").flows[0].totals[0].packets = 200;
  made_.node("a").flows[0].totals[0].retransmitted_packets = 3;
  EXPECT_THAT(path().retransmitted_percent, Optional(1.5));
}

}  // namespace
}  // namespace chokepoint::analysis
