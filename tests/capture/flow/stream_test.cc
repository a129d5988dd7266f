// A stream's bytes in order, over tcp_data.cc and flow.cc.
#include <gtest/gtest.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

TEST(Stream, PlacesThePayload) {
  Conversation talk;
  talk.handshake();
  EXPECT_EQ(talk.data(0).offset, 0);
  const Seen second = talk.data(kFull);
  EXPECT_EQ(second.offset, kFull);
  EXPECT_EQ(second.new_from, 0U);
  EXPECT_EQ(second.direction, 0);
  talk.wait_us(300'000);
  EXPECT_EQ(talk.data(kFull).new_from, kFull);
  EXPECT_EQ(talk.reply(0, 10).direction, 1);
}

TEST(Stream, GoesOnWhereSequenceNumbersWrap) {
  Conversation talk;
  talk.client.initial_sequence = 0xffffffff - 5 * kFull;
  talk.handshake();
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(talk.data(i * kFull).offset, i * kFull);
    talk.ack((i + 1) * kFull);
  }
  EXPECT_EQ(talk.sent().unique_bytes, 20U * kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  EXPECT_EQ(talk.sent().rtt_ms->count, 21U);
}

TEST(Stream, CountsMoreThanSequenceNumbersCan) {
  Conversation talk;
  talk.handshake();
  constexpr std::uint32_t kLarge = 60'000;
  constexpr std::uint64_t kFrames = 150'000;
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    talk.data(static_cast<std::uint32_t>(i * kLarge), kLarge);
    talk.ack(static_cast<std::uint32_t>((i + 1) * kLarge));
  }
  EXPECT_EQ(talk.sent().unique_bytes, kFrames * kLarge);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
}

TEST(Stream, WithoutAHandshakeBeginsWhereItWasMet) {
  Conversation talk;
  talk.ack(5 * kFull);
  talk.data(9 * kFull);  // 5 to 8 passed before the capture began
  talk.data(10 * kFull);
  talk.ack(11 * kFull);
  const DirectionFacts sent = talk.facts().directions[1];  // the other side was seen first
  EXPECT_EQ(sent.missing_bytes, 0U);
  EXPECT_EQ(sent.out_of_order + sent.retransmitted_packets, 0U);
  EXPECT_EQ(sent.unique_bytes, 2U * kFull);
}

TEST(Stream, TellsWhatTheCaptureLost) {
  Conversation talk;
  talk.handshake();
  talk.data(0);
  talk.data(3 * kFull);
  talk.ack(4 * kFull);
  talk.ack(6 * kFull);
  EXPECT_EQ(talk.sent().missing_bytes, 4U * kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
}

TEST(Stream, SeenFromOneSideIsStillFollowed) {
  Conversation talk;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    talk.data(i * kFull);
    talk.wait_us(10);
  }
  talk.wait_us(400'000);
  talk.data(4'990 * kFull);
  const FlowFacts facts = talk.facts();
  EXPECT_EQ(facts.directions[0].unique_bytes, 5'000U * kFull);
  EXPECT_EQ(facts.directions[0].retransmissions.timeout, 1U);
  EXPECT_FALSE(facts.directions[0].rtt_ms);
  EXPECT_EQ(facts.directions[1].packets, 0U);
  EXPECT_NEAR(facts.directions[0].busy_s, 0.05, 0.001);
}

TEST(Stream, OfTheAnswersAloneIsNothingMissing) {
  Conversation talk;
  for (std::uint32_t i = 0; i < 50; ++i) {
    talk.ack(i * kFull);
  }
  const FlowFacts facts = talk.facts();
  EXPECT_EQ(facts.directions[0].packets, 50U);  // seen first, so it is a
  EXPECT_EQ(facts.directions[1].missing_bytes, 0U);
}

TEST(Stream, OfTheSamePortsAgainIsAnotherFlow) {
  Conversation talk;
  talk.handshake();
  const Seen first = talk.data(0);
  talk.ack(kFull);
  talk.client.initial_sequence += 50'000;
  talk.server.initial_sequence += 90'000;
  talk.wait_us(1'000'000);
  talk.handshake();
  const Seen second = talk.data(0);
  talk.ack(kFull);
  EXPECT_NE(first.slot, second.slot);
  EXPECT_EQ(talk.engine.flows(), 2U);
  talk.engine.visit([](std::uint32_t, const FlowFacts& facts) {
    EXPECT_EQ(facts.directions[0].unique_bytes, kFull);
    EXPECT_EQ(facts.directions[0].retransmitted_packets, 0U);
    EXPECT_TRUE(facts.handshake_seen);
  });
}

TEST(Stream, IsClosedByBothFinsOrAReset) {
  Conversation talk;
  talk.handshake();
  packet::Packet fin = talk.data_packet(0, 100);
  fin.tcp.flags |= packet::kFin;
  talk.take(fin);
  EXPECT_FALSE(talk.facts().is_closed);
  packet::Packet answer = talk.ack_packet(101);
  answer.tcp.flags |= packet::kFin;
  talk.take(answer);
  EXPECT_TRUE(talk.facts().is_closed);
  EXPECT_EQ(talk.sent().unique_bytes, 100U);

  Conversation other;
  other.handshake();
  packet::Packet reset = other.data_packet(999'999'999, 0);
  reset.tcp.flags = packet::kRst;
  other.take(reset);
  EXPECT_TRUE(other.facts().is_closed);
  EXPECT_EQ(other.sent().missing_bytes + other.answered().missing_bytes, 0U);
}

TEST(Stream, BelongsToWhoOpenedIt) {
  Conversation talk;
  packet::Packet answer = talk.packet_of(talk.server, talk.client, 0);
  answer.tcp.flags = packet::kSyn | packet::kAck;
  answer.tcp.acknowledgement = talk.client.initial_sequence + 1;
  talk.take(answer);
  EXPECT_EQ(talk.facts().ends.source_port, talk.client.port);
  EXPECT_EQ(talk.answered().packets, 1U);
}

TEST(SuperFrame, IsCountedAsTheWireCarriesIt) {
  Conversation with;
  Conversation without;
  for (Conversation* talk : {&with, &without}) {
    talk->has_timestamps = true;
    talk->handshake();
  }
  constexpr std::uint32_t kSegment = 1'448;
  with.data(0, 20 * kSegment + 100);
  for (std::uint32_t i = 0; i < 20; ++i) {
    without.data(i * kSegment, kSegment);
  }
  without.data(20 * kSegment, 100);
  EXPECT_EQ(with.sent().packets, without.sent().packets);
  EXPECT_EQ(with.sent().bytes, without.sent().bytes);
  EXPECT_EQ(with.sent().payload_bytes, without.sent().payload_bytes);
  EXPECT_EQ(with.sent().frames, 3U);
  EXPECT_LT(with.sent().frame_bytes, without.sent().frame_bytes);
}

TEST(Flows, OfUdpHaveVolumesAlone) {
  Conversation talk;
  packet::Packet datagram = talk.packet_of(talk.client, talk.server, 500);
  datagram.kind = packet::Kind::Udp;
  datagram.ends.protocol = 17;
  datagram.congestion_bits = 3;
  EXPECT_TRUE(talk.take(datagram).is_flow);
  talk.take(datagram);
  EXPECT_EQ(talk.sent().payload_bytes, 1'000U);
  EXPECT_EQ(talk.sent().congestion_marks, 2U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  datagram.kind = packet::Kind::NotIp;
  EXPECT_FALSE(talk.take(datagram).is_flow);
}

}  // namespace
}  // namespace chokepoint::capture::flow
