// Probes beside what the job reached: the table of path_picture.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/path_picture.h"
#include "analysis/report/report_document.h"
#include "tests/analysis/made_probe.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

// a sends to b at 900 Mb/s.
class ProbeTableOf : public testing::Test {
 protected:
  ProbeTableOf() {
    made_.host("a");
    made_.host("b");
    made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, full_link());
    for (NodeData& node : made_.data.nodes) {
      node.wall_start_ns = 1'795'000'000'000'000'000;
    }
  }

  void probe(const char* node, const char* kind, const std::string& document) {
    made_.node(node).probes.push_back({.id = 3,
                                       .t_ns = made_.span().start_ns - 1'000'000'000,
                                       .kind = kind,
                                       .document = document});
  }
  ProbeTable table() {
    const Clocks clocks = fit_clocks(made_.data);
    const FlowTable flows = flow_table(made_.data, clocks, nullptr, made_.span().start_ns);
    return probe_table(made_.data, path_pictures(made_.data, clocks, flows, 2));
  }
  std::vector<std::string> whats() {
    std::vector<std::string> whats;
    for (const ProbeLine& line : table().lines) {
      whats.push_back((line.direction.empty() ? "both" : line.direction) + " " + line.what);
    }
    return whats;
  }

  MadeRun made_;
};

std::string whole_tcp() {
  return fakes::printed_text(documents::ProbeTcp{
      .peer = {.address = "10.0.0.2"},
      .by_direction = {.only = documents::TcpFigures{
                           .mss_bytes = 1000,
                           .throughput_mbps = 1000,
                           .bytes = 1'000'000,
                           .retransmits = 20,
                           .rtt_ms = math::Distribution{.min = 0.2, .median = 3, .count = 9}}}});
}

TEST_F(ProbeTableOf, HoldsTheJobAgainstATcpProbe) {
  probe("a", "tcp", whole_tcp());
  const auto lines = table().lines;
  EXPECT_THAT(whats(), ElementsAre("send throughput", "send round trip under load", "send loss",
                                   "both least round trip"));
  EXPECT_EQ(lines.at(0).peer, "b");
  EXPECT_DOUBLE_EQ(lines[0].probe_value, 1000);
  EXPECT_THAT(lines[0].job_value, Optional(DoubleNear(900, 1)));
  EXPECT_THAT(lines[0].share_percent(), Optional(DoubleNear(90, 0.1)));
  EXPECT_DOUBLE_EQ(lines[2].probe_value, 2);
  EXPECT_THAT(lines[2].job_value, Optional(0.0));
  EXPECT_FALSE(lines[2].share_percent());
  EXPECT_THAT(lines[3].job_value, Optional(DoubleNear(0.1, 1e-9)));
  EXPECT_EQ(lines[3].source, "probe 3 tcp of a");
}

TEST_F(ProbeTableOf, TakesBothWaysApart) {
  probe("b", "tcp", made_tcp_both("10.0.0.1", 500, 1800));
  const auto lines = table().lines;
  ASSERT_EQ(lines.size(), 2);
  EXPECT_FALSE(lines[0].job_value);  // b sends nothing
  EXPECT_THAT(lines[1].share_percent(), Optional(DoubleNear(50, 0.1)));
}

TEST_F(ProbeTableOf, HoldsTheJobAgainstUdpLatencyAndPath) {
  probe("a", "udp",
        fakes::printed_text(documents::ProbeUdp{
            .peer = {.address = "10.0.0.2"},
            .by_direction = {
                .only = documents::UdpFigures{.throughput_mbps = 940, .loss_percent = 0.5}}}));
  probe("a", "latency",
        fakes::printed_text(documents::ProbeLatency{
            .peer = {.address = "10.0.0.2"},
            .idle_ms = documents::RoundTrips{.min = 0.3, .count = 9},
            .send = {.loaded_ms = documents::RoundTrips{.median = 9, .count = 9}}}));
  probe("a", "path", made_path("10.0.0.2", 0.4));
  EXPECT_THAT(whats(), ElementsAre("send throughput", "send loss", "send round trip under load",
                                   "both least round trip", "both least round trip"));
  EXPECT_DOUBLE_EQ(table().lines.at(4).probe_value, 0.4);
}

TEST_F(ProbeTableOf, DoesNotTakeARouterForThePeer) {
  probe("a", "path", made_path({}, 0.1));
  EXPECT_TRUE(table().lines.empty());
  EXPECT_THAT(table().remarks, ElementsAre(HasSubstr("no number")));
}

TEST_F(ProbeTableOf, ComparesNothingWithAWayThatTheJobDidNotTake) {
  made_.node("b").interfaces.push_back({.name = "eth1", .addresses = {"10.1.0.2/24"}});
  probe("a", "tcp", made_tcp(documents::Direction::Send, "10.1.0.2", 9));
  const auto lines = table().lines;
  ASSERT_EQ(lines.size(), 1);
  EXPECT_EQ(lines[0].peer, "b");
  EXPECT_EQ(lines[0].address, "10.1.0.2");
  EXPECT_FALSE(lines[0].job_value);
}

TEST_F(ProbeTableOf, NamesAPeerThatIsNoNode) {
  probe("a", "tcp", made_tcp(documents::Direction::Send, "192.0.2.1", 9));
  EXPECT_EQ(table().lines.at(0).peer, "192.0.2.1");
}

TEST_F(ProbeTableOf, FindsAPeerByItsNameWhereThereIsNoAddress) {
  probe("a", "tcp",
        fakes::printed_text(documents::ProbeTcp{
            .peer = {.name = "b"},
            .by_direction = {.only = documents::TcpFigures{.throughput_mbps = 1800}}}));
  EXPECT_THAT(table().lines.at(0).share_percent(), Optional(DoubleNear(50, 0.1)));
}

TEST_F(ProbeTableOf, LeavesOutWhatIsNoDocument) {
  for (const char* document :
       {"", "{", "[]", "7", "\"text\"", "\xff\xfe", R"({"schema":"chokepoint.probe.tcp/1"})"}) {
    probe("a", "tcp", document);
  }
  EXPECT_TRUE(table().lines.empty());
  EXPECT_EQ(table().remarks.size(), 7);
  EXPECT_EQ(table().remarks.at(0), "probe 3 (tcp) of a was left out: its document cannot be read");
}

TEST_F(ProbeTableOf, LeavesDoctorToTheHosts) {
  probe("a", "doctor", R"({"checks":[]})");
  EXPECT_TRUE(table().lines.empty());
  EXPECT_TRUE(table().remarks.empty());
}

TEST_F(ProbeTableOf, TellsWhenByTheWallClock) {
  probe("a", "tcp", whole_tcp());
  EXPECT_EQ(json::to_json(table().lines)[0]["at"], "2026-11-18T11:06:39.000Z");
  EXPECT_EQ(json::to_json(table().lines)[0]["direction"], "send");
  EXPECT_TRUE(json::to_json(table().lines)[3]["direction"].is_null());
  EXPECT_TRUE(json::to_json(table().lines)[3]["share_percent"].is_null());
}

}  // namespace
}  // namespace chokepoint::analysis
