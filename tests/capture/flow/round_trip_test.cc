// Round trips out of acknowledgements and timestamps, over tcp.cc and sent_log.cc.
#include <gtest/gtest.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

TEST(RoundTrip, IsFromTheOldestSegmentNewlyAcknowledged) {
  Conversation talk;
  talk.handshake(1'000);
  for (std::uint32_t i = 0; i < 100; ++i) {
    talk.data(2 * i * kFull);
    talk.wait_us(100);
    talk.data((2 * i + 1) * kFull);
    talk.wait_us(900);
    talk.ack(2 * (i + 1) * kFull);
  }
  const auto rtt = talk.sent().rtt_ms;
  ASSERT_TRUE(rtt);
  EXPECT_EQ(rtt->count, 101U);
  EXPECT_NEAR(rtt->median, 1.0, 0.02);
}

TEST(RoundTrip, ComesFromAcknowledgementsInsideASuperFrame) {
  Conversation talk;
  talk.handshake(5'000);
  talk.data(0, 40 * kFull);
  for (std::uint32_t i = 1; i <= 4; ++i) {
    talk.wait_us(5'000);
    talk.ack(i * 10 * kFull);
  }
  ASSERT_TRUE(talk.sent().rtt_ms);
  EXPECT_EQ(talk.sent().rtt_ms->count, 5U);
  EXPECT_NEAR(talk.sent().rtt_ms->max, 20, 0.4);
}

TEST(RoundTrip, IsNotTakenFromWhatWasSentTwice) {
  Conversation talk;
  talk.handshake(1'000);
  talk.data(0);
  talk.wait_us(300'000);
  talk.data(0);
  talk.wait_us(1'000);
  talk.ack(kFull);
  EXPECT_EQ(talk.sent().rtt_ms->count, 1U);  // the handshake's
  talk.data(kFull);
  talk.wait_us(1'000);
  talk.ack(2 * kFull);
  EXPECT_EQ(talk.sent().rtt_ms->count, 2U);
  EXPECT_NEAR(talk.sent().rtt_ms->max, 1, 0.02);
}

TEST(RoundTrip, ByTimestampsTakesEachValueOnce) {
  Conversation talk;
  talk.has_timestamps = true;
  talk.handshake(15'000);
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto stamp = static_cast<std::uint32_t>(talk.now_ns / 1'000'000);
    talk.data(i * kFull);
    talk.wait_us(15'000);
    packet::Packet answer = talk.ack_packet((i + 1) * kFull);
    answer.tcp.timestamp_echo = stamp;
    talk.take(answer);
    talk.take(talk.ack_packet((i + 1) * kFull));
  }
  const auto rtt = talk.sent().timestamp_rtt_ms;
  ASSERT_TRUE(rtt);
  EXPECT_EQ(rtt->count, 10U);
  EXPECT_NEAR(rtt->median, 15, 0.3);
}

TEST(RoundTrip, IsNotHowLongAnApplicationWaits) {
  Conversation talk;
  talk.has_timestamps = true;
  talk.handshake(100);
  for (std::uint32_t i = 0; i < 20; ++i) {
    packet::Packet message = talk.data_packet(i * 100, 100);
    message.tcp.timestamp_echo = message.tcp.timestamp - 1'000;  // of the last acknowledgement
    talk.take(message);
    talk.ack((i + 1) * 100);
    talk.wait_us(1'000'000);
  }
  EXPECT_FALSE(talk.answered().timestamp_rtt_ms);
}

TEST(RoundTrip, OfThePathIsBothHalvesTogether) {
  Conversation talk;
  talk.handshake(2'000);
  talk.wait_us(3'000);
  for (std::uint32_t i = 0; i < 50; ++i) {
    talk.data(i * kFull);
    talk.wait_us(2'000);
    talk.ack((i + 1) * kFull);
  }
  talk.reply(0, 100);
  talk.wait_us(3'000);
  packet::Packet answer = talk.data_packet(50 * kFull, 0);
  answer.tcp.acknowledgement += 100;
  talk.take(answer);
  const FlowFacts facts = talk.facts();
  ASSERT_TRUE(facts.path_rtt_ms);
  EXPECT_NEAR(facts.directions[0].rtt_ms->median, 2, 0.05);
  // The handshake's third packet came at once, so the least of the other half is nothing.
  EXPECT_NEAR(facts.path_rtt_ms->median, 2, 0.1);
  EXPECT_NEAR(facts.directions[1].rtt_ms->max, 3, 0.1);
}

TEST(RoundTrip, NeverGoesBackInTime) {
  Conversation talk;
  talk.handshake();
  talk.data(0);
  talk.now_ns -= 5'000'000'000;
  talk.ack(kFull);
  const FlowFacts facts = talk.facts();
  EXPECT_EQ(facts.directions[0].rtt_ms->count, 1U);
  EXPECT_GE(facts.end_ns, facts.start_ns);
  EXPECT_GE(facts.directions[0].busy_s, 0);
  EXPECT_GE(facts.directions[0].longest_idle_s, 0);
}

}  // namespace
}  // namespace chokepoint::capture::flow
