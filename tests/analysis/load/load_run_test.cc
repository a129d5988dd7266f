// Records on disk read into memory, over run_data.cc, node_loader.cc and connections.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/run_summary.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::Contains;
using testing::HasSubstr;

// Two hosts with a connection that each tells of from its own end.
class LoadRun : public testing::Test {
 protected:
  NodeMaker& first(const NodePlan& plan = {}) { return run_.node(plan); }
  NodeMaker& second(NodePlan plan = {}) {
    plan.name = "b";
    plan.address = "10.0.0.2";
    plan.rank = 1;
    return run_.node(plan);
  }
  static std::int64_t flow_of(NodeMaker& node) {
    return node.plan().name == "a" ? node.flow("10.0.0.1:4000", "10.0.0.2:5000")
                                   : node.flow("10.0.0.2:5000", "10.0.0.1:4000");
  }
  static void add_connection(NodeMaker& node) {
    const std::int64_t flow = flow_of(node);
    const bool is_a = node.plan().name == "a";
    node.traffic(flow, is_a ? Direction::AToB : Direction::BToA,
                 {.from_ms = 0, .to_ms = 100, .bytes_per_s = 1e6});
    node.traffic(flow, is_a ? Direction::BToA : Direction::AToB,
                 {.from_ms = 0, .to_ms = 100, .bytes_per_s = 2e6});
    node.sockets(flow, Direction::AToB,
                 {.from_ms = 0, .to_ms = 100, .last = {.state = 1, .bytes_sent = 1000}});
    node.steps({.count = 3, .length_ms = 100});
  }

  RunMaker run_;
};

TEST_F(LoadRun, AStepThatSaysItStandsForNoneStandsForOne) {
  NodeMaker& node = first();
  for (const std::int64_t merged : {1, 0, -5}) {
    node.push(record::Step{
        .start_ns = node.at_ms(0), .end_ns = node.at_ms(100), .merged = merged, .rank = 0});
  }
  run_.finish();
  record::Run records = *record::open_run(run_.folder());
  const RunSummary summary = summarize(records);
  EXPECT_EQ(summary.nodes.front().steps.count, 3);
}

// Whoever asks takes it for the place of an end.
TEST_F(LoadRun, AnEndThatIsNeitherIsUnknown) {
  NodeMaker& node = first();
  for (const std::int64_t end : {0, 1, 2, -1}) {
    node.add(record::Flow{.protocol = "tcp", .a_address = "10.0.0.1", .local_end = end});
  }
  std::vector<std::int64_t> ends;
  for (const FlowData& flow : run_.load().nodes[0].flows) {
    ends.push_back(flow.row.local_end.value_or(9));
  }
  EXPECT_THAT(ends, testing::UnorderedElementsAre(0, 1, 9, 9));
}

TEST_F(LoadRun, KeepsWhatANodeTold) {
  NodeMaker& a = first({.length_ms = 500, .command = {"train", "--fast"}, .exit_status = 3});
  add_connection(a);
  a.counter("nic.sent_bytes", "eth0", {{.ms = 0, .value = 0}, {.ms = 100, .value = 5}});
  a.event(10, "interface-down", "eth0");
  const RunData data = run_.load();
  ASSERT_EQ(data.nodes.size(), 1U);
  const NodeData& node = data.nodes[0];
  EXPECT_EQ(node.name, "a");
  EXPECT_EQ(node.command, "train --fast");
  EXPECT_EQ(node.exit_status, 3);
  EXPECT_TRUE(node.is_complete);
  EXPECT_EQ(node.span.length_ns(), 500 * kMsNs);
  EXPECT_EQ(node.wall_start_ns, a.plan().wall_ns);
  EXPECT_EQ(node.rank(), 0);
  ASSERT_EQ(node.flows.size(), 1U);
  EXPECT_EQ(node.flows[0].packets[0].size(), 10U);
  EXPECT_EQ(node.flows[0].totals[1].payload_bytes, record::Figure(200'000));
  EXPECT_EQ(node.flows[0].sockets[0].size(), 6U);
  EXPECT_EQ(node.steps.size(), 3U);
  EXPECT_EQ(node.events.size(), 1U);
  ASSERT_NE(node.find("nic.sent_bytes", "eth0"), nullptr);
  EXPECT_EQ(node.find("nic.sent_bytes", "eth0")->readings.size(), 2U);
  EXPECT_EQ(node.find("nic.sent_bytes", "eth1"), nullptr);
  ASSERT_NE(node.interface("eth0"), nullptr);
  EXPECT_TRUE(node.interface("eth0")->is_up);
  EXPECT_EQ(node.interface("eth0")->speed_mbps, 10'000);
  EXPECT_THAT(node.interface("eth0")->addresses, Contains("10.0.0.1/24"));
}

TEST_F(LoadRun, AConnectionHasBothEnds) {
  add_connection(first());
  add_connection(second());
  const RunData data = run_.load();
  ASSERT_EQ(data.connections.size(), 1U);
  const Connection& connection = data.connections[0];
  EXPECT_EQ(connection.names, (std::array<std::string, 2>{"a", "b"}));
  EXPECT_EQ(connection.ranks[0], 0);
  EXPECT_EQ(connection.ranks[1], 1);
  for (const auto& end : connection.ends) {
    ASSERT_TRUE(end);
    const FlowData& flow = data.nodes[end->node].flows[end->flow];
    EXPECT_EQ(flow.row.a_address, "10.0.0.1");
    EXPECT_EQ(flow.totals[0].payload_bytes, record::Figure(100'000));
    EXPECT_EQ(flow.packets[1].front().direction, Direction::BToA);
  }
  const FlowData& turned = data.nodes[1].flows[connection.ends[1]->flow];
  EXPECT_TRUE(turned.sockets[0].empty());
  EXPECT_EQ(turned.row.local_end, record::Figure(1));
  EXPECT_TRUE(data.missing.empty()) << data.missing.front();
}

}  // namespace
}  // namespace chokepoint::analysis
