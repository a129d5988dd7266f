#include "analysis/report/flow_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "analysis/report/report_document.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Optional;

// a sends to b at 900 Mb/s in 60 of each 100 ms, for two seconds.
class FlowTableOf : public testing::Test {
 protected:
  FlowTableOf() {
    made_.host("a");
    made_.host("b");
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, full_link());
    for (NodeData& node : made_.data.nodes) {
      node.flows[0].row.start_ns = made_.span().start_ns + 1'000'000;
      node.flows[0].row.end_ns = made_.span().end_ns;
    }
  }

  FlowTable table(const LimitTimeline* limit_timeline = nullptr) {
    return flow_table(made_.data, fit_clocks(made_.data), limit_timeline, made_.span().start_ns);
  }
  FlowDirection sent(const LimitTimeline* limit_timeline = nullptr) {
    return table(limit_timeline).flows.at(0).directions[0];
  }
  FlowData& at(const char* node) { return made_.node(node).flows.at(0); }

  MadeRun made_;
};

TEST_F(FlowTableOf, TellsWhoAndWhen) {
  const FlowLine line = table().flows.at(0);
  EXPECT_EQ(line.sides[0].name, "a");
  EXPECT_EQ(line.sides[1].address, "10.0.0.2");
  EXPECT_EQ(line.sides[1].interface, "eth0");
  EXPECT_THAT(line.start_s, Optional(DoubleNear(0.001, 1e-9)));
  EXPECT_THAT(line.end_s, Optional(DoubleNear(2, 1e-9)));
  EXPECT_THAT(line.min_rtt_ms, Optional(DoubleNear(0.1, 1e-9)));
  EXPECT_THAT(line.seen_by, ElementsAre("a", "b"));
  EXPECT_EQ(line.source, "flow totals and socket samples of a and b");
}

TEST_F(FlowTableOf, TellsPaceOverItsLifeAndWhileBusy) {
  const FlowDirection direction = sent();
  EXPECT_THAT(direction.busy_s, Optional(DoubleNear(1.2, 1e-6)));
  EXPECT_THAT(direction.busy_mbps, Optional(DoubleNear(900, 0.1)));
  EXPECT_THAT(direction.throughput_mbps, Optional(DoubleNear(540 * 2 / 1.999, 0.1)));
  EXPECT_THAT(direction.max_cwnd_bytes, Optional(1'448'000));
}

TEST_F(FlowTableOf, LivesToTheRecordsEndWhereNobodySawItsOwn) {
  at("a").row.end_ns = {};
  at("b").row.end_ns = {};
  const FlowLine line = table().flows.at(0);
  EXPECT_EQ(line.end_s, std::nullopt);
  EXPECT_THAT(line.directions[0].throughput_mbps, Optional(DoubleNear(540 * 2 / 1.999, 0.1)));
}

TEST_F(FlowTableOf, HasNoPaceOverALifeThatNobodyTells) {
  for (const char* name : {"a", "b"}) {
    at(name).row.end_ns = {};
    NodeData& node = made_.node(name);
    node.span = {0, std::numeric_limits<std::int64_t>::max()};  // its sessions are lost
    node.steps.clear();
    node.collectives.clear();
  }
  EXPECT_EQ(sent().throughput_mbps, std::nullopt);
}

TEST_F(FlowTableOf, AsksTheSenderFirst) {
  at("a").totals[0].retransmitted_packets = 7;
  at("b").totals[0].retransmitted_packets = 3;
  at("b").totals[0].zero_windows = 5;
  EXPECT_THAT(sent().retransmitted_packets, Optional(7));
  EXPECT_THAT(sent().zero_windows, Optional(5));
}

TEST_F(FlowTableOf, AsksTheReceiverWhatCameOutOfOrder) {
  at("a").totals[0].out_of_order = 0;
  at("b").totals[0].out_of_order = 9;
  EXPECT_THAT(sent().out_of_order, Optional(9));
}

TEST_F(FlowTableOf, KnowsNoWindowOutOfABadRow) {
  for (record::SocketSample& sample : at("a").sockets[0]) {
    sample.cwnd_packets = std::numeric_limits<std::int64_t>::max() / 2;
    sample.mss_bytes = 1448;
  }
  EXPECT_FALSE(sent().max_cwnd_bytes);
}

TEST_F(FlowTableOf, TakesRoundTripsFromTheSenderAlone) {
  at("b").totals[0].rtt_ms = R"({"min":1,"median":1,"p99":1,"max":1,"mean":1,"count":5})";
  EXPECT_FALSE(sent().rtt_ms);
  at("a").totals[0].rtt_ms = R"({"median":2,"count":1e300})";
  EXPECT_EQ(sent().rtt_ms->count, 1'000'000'000'000'000'000U);
  at("a").totals[0].rtt_ms = R"({"min":1,"median":2,"p99":3,"max":4,"mean":2.5,"count":6})";
  ASSERT_TRUE(sent().rtt_ms);
  EXPECT_DOUBLE_EQ(sent().rtt_ms->median, 2);
  EXPECT_EQ(table().flows.at(0).rtt_ms()->count, 6);
}

TEST_F(FlowTableOf, TakesNoRoundTripsOutOfAnythingElse) {
  for (const char* text : {"", "{", "[1]", "null", R"({"median":"2","count":1})",
                           R"({"median":2,"count":0})", R"({"median":2})"}) {
    at("a").totals[0].rtt_ms = text;
    EXPECT_FALSE(sent().rtt_ms) << text;
  }
}

TEST_F(FlowTableOf, KnowsNothingOfASilentDirection) {
  const FlowDirection back = table().flows.at(0).directions[1];
  EXPECT_EQ(back.payload_bytes, std::nullopt);
  EXPECT_EQ(back.busy_s, std::nullopt);
  EXPECT_EQ(back.retransmitted_percent(), std::nullopt);
  EXPECT_EQ(back.busy_mbps, std::nullopt);
}

TEST_F(FlowTableOf, IsSeenByOneEndWhereTheOtherLeftNoRecord) {
  made_.lose("a");
  const FlowLine line = table().flows.at(0);
  EXPECT_EQ(line.sides[0].name, "10.0.0.1");
  EXPECT_THAT(line.seen_by, ElementsAre("b"));
  EXPECT_GT(line.directions[0].payload_bytes.value_or(0), 0);
  // By packets: the sender's stopwatch is not known.
  EXPECT_THAT(line.directions[0].busy_s, Optional(DoubleNear(1.2, 0.21)));
  EXPECT_FALSE(line.directions[0].max_cwnd_bytes);
}

TEST_F(FlowTableOf, DoesNotTakeAPartForTheWhole) {
  at("a").sockets[0].clear();
  EXPECT_TRUE(sent().payload_bytes);
  for (NodeData& node : made_.data.nodes) {
    node.windows = {made_.span()};
  }
  EXPECT_FALSE(sent().payload_bytes);
  EXPECT_FALSE(sent().busy_s);
  at("b").totals[0].bytes = 5000;  // only a record tells
  EXPECT_TRUE(sent().payload_bytes);
}

TEST_F(FlowTableOf, GoesByTheKernelsCountBetweenWindows) {
  const std::int64_t all = at("a").sockets[0].back().bytes_sent.value();
  for (NodeData& node : made_.data.nodes) {
    node.windows = {made_.span()};
  }
  EXPECT_THAT(sent().payload_bytes, Optional(all));
  EXPECT_EQ(table().flows.at(0).source,
            "flow totals and socket samples, read in windows, of a and b");
}

TEST_F(FlowTableOf, TellsWhatHeldItBackWhereThatIsKnown) {
  EXPECT_FALSE(sent().limited_by);
  const LimitTimeline limit_timeline =
      limit_timeline_of(made_.data, fit_clocks(made_.data), std::vector{made_.span()});
  ASSERT_TRUE(sent(&limit_timeline).limited_by);
  EXPECT_NEAR((*sent(&limit_timeline).limited_by)[Limit::LinkFull], 1.2e9, 5e7);
  EXPECT_FALSE(table(&limit_timeline).flows.at(0).directions[1].limited_by);
}

TEST_F(FlowTableOf, CountsWhatItLeavesOut) {
  EXPECT_EQ(table().left_out, 0);
  made_.node("a").flows.emplace_back();
  EXPECT_EQ(table().left_out, 1);
}

TEST_F(FlowTableOf, PassesHostileNamesOn) {
  made_.data.connections[0].names[0] = "<script>\"\n\xff";
  EXPECT_EQ(json::to_json(table().flows)[0]["a"]["name"], "<script>\"\n\xff");
}

TEST_F(FlowTableOf, WritesNullForWhatIsUnknown) {
  const json::Json flow = json::to_json(table().flows).at(0);
  EXPECT_TRUE(flow["b_to_a"]["payload_bytes"].is_null());
  EXPECT_TRUE(flow["a_to_b"]["limited_by"].is_null());
  EXPECT_TRUE(flow["rtt_ms"].is_null());
  EXPECT_TRUE(flow["process"].is_null());
  EXPECT_EQ(flow["id"], 0);
  EXPECT_EQ(flow["a_to_b"]["max_cwnd_bytes"], 1'448'000);
}

}  // namespace
}  // namespace chokepoint::analysis
