#include "analysis/load/node_loader.h"

#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

TEST(CompleteTotals, AddUpPacketsOfEachDirection) {
  FlowData flow;
  flow.packets[1] = {{.packets = 10, .payload_bytes = 9000, .retransmitted_packets = 1},
                     {.packets = 30, .payload_bytes = 27'000, .retransmitted_packets = 2}};
  complete_totals(flow);
  EXPECT_EQ(flow.totals[1].packets, 40);
  EXPECT_EQ(flow.totals[1].payload_bytes, 36'000);
  EXPECT_EQ(flow.totals[1].retransmitted_packets, 3);
  EXPECT_FALSE(flow.totals[0].packets.known());
}

TEST(CompleteTotals, AreTheSendersOwnCountersWhereNoPacketWasSeen) {
  FlowData flow;
  flow.sockets[0] = {{.mss_bytes = 1000, .bytes_sent = 5000, .retransmits = 0},
                     {.mss_bytes = 1000, .bytes_sent = 90'000, .retransmits = 4}};
  complete_totals(flow);
  EXPECT_EQ(flow.totals[0].packets, 90);
  EXPECT_EQ(flow.totals[0].payload_bytes, 90'000);
  EXPECT_EQ(flow.totals[0].retransmitted_packets, 4);
}

TEST(CompleteTotals, StayWhereTheyAreKnown) {
  FlowData flow;
  flow.totals[0] = {.packets = 7, .payload_bytes = 700};
  flow.packets[0] = {{.packets = 10, .payload_bytes = 9000}};
  complete_totals(flow);
  EXPECT_EQ(flow.totals[0].packets, 7);
  EXPECT_EQ(flow.totals[0].payload_bytes, 700);
}

TEST(CompleteTotals, MakeNoPacketsOfNoSegmentSize) {
  FlowData flow;
  flow.sockets[0] = {{.mss_bytes = 0, .bytes_sent = 5000}};
  complete_totals(flow);
  EXPECT_FALSE(flow.totals[0].packets.known());
  EXPECT_EQ(flow.totals[0].payload_bytes, 5000);
}

}  // namespace
}  // namespace chokepoint::analysis
