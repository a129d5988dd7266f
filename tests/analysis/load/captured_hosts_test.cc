#include "analysis/load/captured_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kRttUs = 1'000;   // of the path
constexpr std::int64_t kNearUs = 20;     // from the tap to its own host
constexpr std::int64_t kBytes = 10'000;  // of each sample

FlowData flow(std::int64_t id, const std::string& a, const std::string& b, std::int64_t a_rtt_us,
              std::int64_t b_rtt_us, bool is_gloo = true) {
  FlowData flow{.row = {.id = id,
                        .protocol = "tcp",
                        .a_address = a,
                        .a_port = 4000 + id,
                        .b_address = b,
                        .b_port = 5000,
                        .interface = "eth0"}};
  if (is_gloo) {
    flow.row.process = 1;
  }
  for (const std::size_t side : {0U, 1U}) {
    flow.packets.at(side).push_back({.t_ns = 100,
                                     .bin_ns = 10,
                                     .flow = id,
                                     .payload_bytes = kBytes,
                                     .min_rtt_us = side == 0 ? a_rtt_us : b_rtt_us});
  }
  return flow;
}

void add_host(NodeData& node, std::int64_t number, const std::string& address) {
  node.events.push_back({.kind = std::string(record::kCapturedHost),
                         .subject = address,
                         .detail = "{\"number\":" + std::to_string(number) + "}"});
}

// What tcpdump on 10.0.0.2 saw of a job of three hosts.
NodeData captured() {
  NodeData node{.name = "job", .is_complete = true, .span = {0, 1'000'000'000}};
  node.is_capture = true;
  node.flows = {flow(1, "10.0.0.10", "10.0.0.2", kNearUs, kRttUs),
                flow(2, "10.0.0.2", "10.0.0.1", kRttUs, kNearUs)};
  add_host(node, 0, "10.0.0.10");
  add_host(node, 1, "10.0.0.2");
  add_host(node, 2, "10.0.0.1");
  for (const std::int64_t number : {0, 1, 2}) {
    node.collectives.push_back({.start_ns = 100'000'000,
                                .end_ns = 200'000'000,
                                .rank = number,
                                .own_ready_ns = 100'000'000,
                                .peer_ready_ns = 110'000'000,
                                .flow = number == 2 ? 2 : 1});
    node.steps.push_back({.start_ns = 0, .end_ns = 100, .rank = number});
  }
  return node;
}

std::vector<std::string> names(const RunData& run) {
  std::vector<std::string> names;
  for (const NodeData& node : run.nodes) {
    names.push_back(node.name);
  }
  return names;
}

RunData separated(std::vector<NodeData> nodes) {
  RunData run{.nodes = std::move(nodes)};
  separate_captured_hosts(run);
  return run;
}

TEST(CapturedHosts, EachHostIsANodeWithARankInTheOrderOfAddresses) {
  const RunData run = separated({captured()});
  EXPECT_THAT(names(run), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.10"));
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    EXPECT_EQ(run.nodes[place].rank(), static_cast<std::int64_t>(place));
    ASSERT_EQ(run.nodes[place].collectives.size(), 1U);
    EXPECT_EQ(run.nodes[place].collectives[0].rank.value_or(-1), static_cast<std::int64_t>(place));
  }
}

TEST(CapturedHosts, TheOneWhoseAcknowledgementsComeAtOnceWasCaptured) {
  const RunData run = separated({captured()});
  EXPECT_TRUE(run.nodes[0].is_inferred);
  EXPECT_FALSE(run.nodes[1].is_inferred);
  EXPECT_TRUE(run.nodes[2].is_inferred);
  EXPECT_EQ(run.nodes[1].flows.size(), 2U);
  EXPECT_FALSE(run.nodes[1].flows[0].packets[0].empty());
  ASSERT_EQ(run.nodes[0].flows.size(), 1U);
  EXPECT_TRUE(run.nodes[0].flows[0].packets[0].empty());
  EXPECT_EQ(run.nodes[0].flows[0].row.local_end.value_or(-1), 1);
}

TEST(CapturedHosts, OfTwoHostsTheNearerOneWasCaptured) {
  NodeData node = captured();
  node.flows.pop_back();
  const RunData run = separated({std::move(node)});
  EXPECT_THAT(names(run), ElementsAre("10.0.0.2", "10.0.0.10"));
  EXPECT_FALSE(run.nodes[0].is_inferred);
  EXPECT_TRUE(run.nodes[1].is_inferred);
}

TEST(CapturedHosts, WhatAPeerSentLeftItHalfARoundTripEarlier) {
  const RunData run = separated({captured()});
  EXPECT_EQ(run.nodes[0].collectives[0].own_ready_ns.value_or(0), 100'000'000 - kRttUs * 500);
  EXPECT_EQ(run.nodes[0].collectives[0].peer_ready_ns.value_or(0), 110'000'000 + kRttUs * 500);
  EXPECT_EQ(run.nodes[1].collectives[0].own_ready_ns.value_or(0), 100'000'000);
}

TEST(CapturedHosts, OnlyTheCapturedHostHasSteps) {
  const RunData run = separated({captured()});
  EXPECT_EQ(run.nodes[0].steps.size(), 0U);
  EXPECT_EQ(run.nodes[1].steps.size(), 1U);
}

TEST(CapturedHosts, ACaptureThereIsBetterThanAnotherHostsSight) {
  NodeData other = captured();
  other.name = "other";
  other.flows = {flow(1, "10.0.0.10", "10.0.0.2", kRttUs, kNearUs)};
  const RunData run = separated({captured(), std::move(other)});
  EXPECT_THAT(names(run), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.10"));
  EXPECT_FALSE(run.nodes[1].is_inferred);
  EXPECT_FALSE(run.nodes[2].is_inferred);
}

TEST(CapturedHosts, TwoFilesOfOneCaptureAreOneNode) {
  NodeData next = captured();
  next.span = {1'000'000'000, 2'000'000'000};
  const RunData run = separated({captured(), std::move(next)});
  ASSERT_EQ(run.nodes.size(), 3U);
  EXPECT_EQ(run.nodes[1].flows.size(), 4U);
  EXPECT_EQ(run.nodes[1].collectives.size(), 2U);
  EXPECT_EQ(run.nodes[1].span.end_ns, 2'000'000'000);
}

TEST(CapturedHosts, AnotherJobIsNamed) {
  NodeData node = captured();
  node.flows.push_back(flow(3, "10.9.0.1", "10.9.0.2", kNearUs, kRttUs));
  const RunData run = separated({std::move(node)});
  EXPECT_THAT(names(run), ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.10"));
  EXPECT_THAT(run.missing, Contains(HasSubstr("10.9.0.1, 10.9.0.2")));
}

TEST(CapturedHosts, WithoutTheLibrarysHeadersTheJobIsWhatCarriesMost) {
  NodeData node{.name = "job", .is_complete = true, .span = {0, 1'000'000'000}};
  node.is_capture = true;
  node.flows = {flow(1, "10.0.0.1", "10.0.0.2", kNearUs, kRttUs, false),
                flow(2, "10.0.0.1", "10.0.0.9", kNearUs, kRttUs, false)};
  node.flows[1].packets[0][0].payload_bytes = 10;
  node.flows[1].packets[1][0].payload_bytes = 10;
  const RunData run = separated({std::move(node)});
  EXPECT_THAT(names(run), ElementsAre("10.0.0.1", "10.0.0.2"));
}

TEST(CapturedHosts, ACaptureOfNothingSaysSo) {
  NodeData node{.name = "job"};
  node.is_capture = true;
  const RunData run = separated({std::move(node)});
  EXPECT_THAT(names(run), ElementsAre("job"));
  EXPECT_THAT(run.missing, Contains(HasSubstr("no connection")));
}

TEST(CapturedHosts, BesideARecordOfARunNothingChanges) {
  NodeData watched{.name = "a"};
  const RunData run = separated({captured(), std::move(watched)});
  EXPECT_THAT(names(run), ElementsAre("job", "a"));
}

}  // namespace
}  // namespace chokepoint::analysis
