#include "analysis/load/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr Traffic kSome{.to_ms = 50, .bytes_per_s = 1e6};

TEST(Connections, AnIpv4AddressInIpv6IsTheSame) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  NodeMaker& b = run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.2:5000"), Direction::AToB, kSome);
  b.traffic(b.add(record::Flow{.protocol = "tcp",
                               .a_address = "::ffff:10.0.0.2",
                               .a_port = 5000,
                               .b_address = "::ffff:10.0.0.1",
                               .b_port = 4000,
                               .local_end = 0}),
            Direction::BToA, kSome);
  const RunData data = run.load();
  ASSERT_EQ(data.connections.size(), 1U);
  EXPECT_TRUE(data.connections[0].ends[0]);
  EXPECT_TRUE(data.connections[0].ends[1]);
}

TEST(Connections, AnEndWithoutARecordHasItsAddressForAName) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.2:5000"), Direction::AToB, kSome);
  const RunData data = run.load();
  ASSERT_EQ(data.connections.size(), 1U);
  EXPECT_EQ(data.connections[0].names[1], "10.0.0.2");
  EXPECT_FALSE(data.connections[0].ends[1]);
  EXPECT_FALSE(data.connections[0].ranks[1]);
}

TEST(Connections, ANodeThatDidNotSeeItsEndIsKnownByItsAddress) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.2:5000"), Direction::AToB, kSome);
  const RunData data = run.load();
  ASSERT_EQ(data.connections.size(), 1U);
  EXPECT_EQ(data.connections[0].names[1], "b");
  EXPECT_EQ(data.connections[0].ranks[1], 1);
  EXPECT_FALSE(data.connections[0].ends[1]);
}

TEST(Connections, ThoseThatCarriedNothingAreLeftOut) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  a.sockets(a.flow("10.0.0.1:4000", "10.0.0.2:5000"), Direction::AToB,
            {.to_ms = 40, .last = {.bytes_sent = 0, .bytes_received = 1}});
  EXPECT_TRUE(run.load().connections.empty());
}

TEST(Connections, RoceHasNoSocketThatTellsWhoseItIs) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.2:29500"), Direction::AToB, kSome);
  const record::Flow others{.protocol = "udp",
                            .a_address = "10.0.0.1",
                            .a_port = 49636,
                            .b_address = "10.0.0.2",
                            .b_port = 4791,
                            .local_end = 0};
  a.traffic(a.add(others), Direction::AToB, kSome);
  record::Flow roce = others;
  roce.protocol = "roce";
  a.traffic(a.add(roce), Direction::AToB, kSome);
  const RunData data = run.load();
  ASSERT_EQ(data.connections.size(), 2U);
  EXPECT_EQ(data.connections[0].row.protocol, "tcp");
  EXPECT_EQ(data.connections[1].row.protocol, "roce");
}

TEST(Connections, AProcessThatTalksToItselfIsLeftOut) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.1:5000"), Direction::AToB, kSome);
  EXPECT_TRUE(run.load().connections.empty());
}

TEST(Connections, RanksOfOneHostAreTwoEndsOfOnePlace) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  a.process(1);
  a.traffic(a.flow("10.0.0.1:4000", "10.0.0.1:5000"), Direction::AToB, kSome);
  const RunData data = run.load();
  ASSERT_EQ(data.connections.size(), 1U);
  const Connection& connection = data.connections[0];
  ASSERT_TRUE(connection.ends[0] && connection.ends[1]);
  EXPECT_EQ(connection.ends[0]->flow, connection.ends[1]->flow);
  EXPECT_EQ(connection.ranks[0], 0);
  EXPECT_FALSE(connection.ranks[1]);
}

// Of two hosts with a connection for each content.
RunData exchanged_by(const std::vector<std::string>& contents) {
  RunData run;
  run.nodes.push_back(
      {.name = "a", .interfaces = {{.name = "eth0", .addresses = {"10.0.0.1/24"}}}});
  run.nodes.push_back(
      {.name = "b", .interfaces = {{.name = "eth0", .addresses = {"10.0.0.2/24"}}}});
  for (std::size_t at = 0; at < contents.size(); ++at) {
    for (const std::int64_t end : {0, 1}) {
      FlowData flow{.row = {.protocol = "tcp",
                            .a_address = "10.0.0.1",
                            .a_port = 40'000 + static_cast<std::int64_t>(at),
                            .b_address = "10.0.0.2",
                            .b_port = 50'000,
                            .local_end = end,
                            .process = 1,
                            .content = contents[at]}};
      flow.totals[0].payload_bytes = 1'000;
      run.nodes[static_cast<std::size_t>(end)].flows.push_back(flow);
    }
  }
  join_connections(run);
  return run;
}

TEST(Connections, WeightsBesideCollectivesAreNoExchange) {
  const RunData run = exchanged_by({"gloo", "http"});
  ASSERT_EQ(run.connections.size(), 2U);
  EXPECT_EQ(run.connections[1].purpose, traffic::Purpose::Weights);
  EXPECT_EQ(std::ranges::distance(run.exchanging()), 1);
}

TEST(Connections, WhereNoCollectivesAreKnownAllMayBeTheExchange) {
  EXPECT_EQ(std::ranges::distance(exchanged_by({"", "http"}).exchanging()), 2);
}

TEST(Connections, TheSameAddressesOnLoopbackOfTwoHostsAreTwo) {
  RunMaker run;
  for (const bool is_first : {true, false}) {
    NodeMaker& node = run.node({.name = is_first ? "a" : "b",
                                .address = is_first ? "10.0.0.1" : "10.0.0.2",
                                .rank = is_first ? 0 : 2,
                                .world_size = 4});
    node.process(is_first ? 1 : 3);
    node.traffic(node.flow("127.0.0.1:4000", "127.0.0.1:5000"), Direction::AToB, kSome);
  }
  EXPECT_EQ(run.load().connections.size(), 2U);
}

}  // namespace
}  // namespace chokepoint::analysis
