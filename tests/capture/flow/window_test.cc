// Receive windows and who waits for them, over tcp.cc and flow.cc.
#include <gtest/gtest.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

TEST(Window, IsScaledAsTheHandshakeSaid) {
  Conversation talk;
  talk.server.window_scale = 9;
  talk.server.window = 1'000;
  talk.handshake();
  talk.data(0);
  talk.ack(kFull);
  ASSERT_TRUE(talk.answered().window_scale);
  EXPECT_EQ(*talk.answered().window_scale, 9);
  EXPECT_EQ(talk.answered().max_window_bytes, 512'000U);
}

TEST(Window, IsUnknownWithoutAHandshake) {
  Conversation talk;
  talk.data(0);
  talk.ack(kFull);
  EXPECT_FALSE(talk.facts().handshake_seen);
  EXPECT_FALSE(talk.answered().max_window_bytes);
  EXPECT_FALSE(talk.answered().window_scale);
  EXPECT_EQ(talk.sent().window_full, 0U);
}

TEST(Window, IsUnknownWhereTheCaptureCutItsScaleOff) {
  Conversation talk;
  talk.server.window = 65'535;
  packet::Packet syn = talk.packet_of(talk.client, talk.server, 0);
  syn.tcp.flags = packet::kSyn;
  syn.tcp.sequence = talk.client.initial_sequence;
  syn.tcp.options = packet::kHasMss | packet::kHasCutOptions;
  talk.take(syn);
  talk.handshake();
  talk.data(0, 60'000);
  talk.ack(60'000);
  EXPECT_FALSE(talk.answered().max_window_bytes);
  EXPECT_EQ(talk.sent().window_full, 0U);
}

TEST(Window, IsFullWhereNoOtherSegmentFits) {
  Conversation talk;
  talk.server.window_scale = 0;
  talk.server.window = 10 * kFull + 700;
  talk.handshake();
  for (std::uint32_t i = 0; i < 10; ++i) {
    talk.data(i * kFull);
  }
  talk.wait_us(20'000);
  talk.ack(10 * kFull);
  talk.wait_us(20'000);
  talk.data(10 * kFull);
  const DirectionFacts sent = talk.sent();
  EXPECT_EQ(sent.window_full, 1U);
  EXPECT_NEAR(sent.window_limited_s, 0.02, 1e-6);
  EXPECT_EQ(sent.max_in_flight_bytes, 10U * kFull);
}

TEST(Window, ThatClosesIsCountedOnceUntilItOpens) {
  Conversation talk;
  talk.handshake();
  talk.data(0);
  talk.server.window = 0;
  talk.ack(kFull);
  talk.wait_us(1'000'000);
  talk.ack(kFull);
  talk.server.window = 512;
  talk.wait_us(1'000'000);
  talk.ack(kFull);
  talk.wait_us(1'000'000);
  talk.server.window = 0;
  talk.ack(kFull);
  EXPECT_EQ(talk.answered().zero_windows, 2U);
  EXPECT_NEAR(talk.sent().zero_window_s, 2, 1e-6);
}

TEST(Probe, OfAClosedWindowIsNoRetransmission) {
  Conversation talk;
  talk.handshake();
  talk.data(0);
  talk.server.window = 0;
  talk.ack(kFull);
  talk.wait_us(300'000);
  packet::Packet linux_probe = talk.data_packet(kFull - 1, 0);
  talk.take(linux_probe);
  talk.ack(kFull);
  talk.wait_us(300'000);
  talk.data(kFull, 1);  // as other systems do it
  talk.ack(kFull);
  talk.wait_us(300'000);
  talk.server.window = 512;
  talk.ack(kFull);
  talk.data(kFull);
  EXPECT_EQ(talk.sent().zero_window_probes, 2U);
  EXPECT_EQ(talk.sent().keep_alives, 0U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  EXPECT_EQ(talk.sent().unique_bytes, 2U * kFull);
}

TEST(KeepAlive, IsNoRetransmissionAndNoDuplicateAck) {
  Conversation talk;
  talk.handshake();
  talk.data(0);
  talk.ack(kFull);
  for (const std::uint32_t bytes : {0U, 1U}) {
    talk.wait_us(7'200'000);
    talk.data(kFull - 1, bytes);
    talk.ack(kFull);
  }
  EXPECT_EQ(talk.sent().keep_alives, 2U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  EXPECT_EQ(talk.answered().duplicate_acks, 0U);
}

TEST(CongestionWindow, IsEstimatedFromRounds) {
  Conversation talk;
  talk.handshake(10'000);
  for (std::uint32_t round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      talk.data((round * 8 + i) * kFull);
    }
    talk.wait_us(10'000);
    talk.ack((round + 1) * 8 * kFull);
  }
  ASSERT_TRUE(talk.sent().cwnd_bytes);
  EXPECT_NEAR(static_cast<double>(*talk.sent().cwnd_bytes), 8 * kFull, 8 * kFull * 0.03);
}

TEST(Activity, TellsBusyFromIdle) {
  Conversation talk;
  talk.handshake();
  for (std::uint32_t burst = 0; burst < 3; ++burst) {
    talk.data(burst * kFull);
    talk.wait_us(50'000);
    talk.ack((burst + 1) * kFull);
    talk.wait_us(200'000);
  }
  talk.data(3 * kFull);
  const DirectionFacts sent = talk.sent();
  EXPECT_NEAR(sent.busy_s, 0.15, 0.001);
  EXPECT_NEAR(sent.longest_idle_s, 0.2, 0.001);
  EXPECT_EQ(sent.busy_periods, 5U);  // with the SYN
}

}  // namespace
}  // namespace chokepoint::capture::flow
