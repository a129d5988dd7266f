// Why a segment was sent again, over tcp.cc, tcp_data.cc and loss.cc.
#include <gtest/gtest.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

// Segments 0 to `count` − 1 of a full size, one after the other.
void send(Conversation& talk, std::uint32_t count, std::uint32_t from = 0) {
  for (std::uint32_t i = from; i < from + count; ++i) {
    talk.data(i * kFull);
    talk.wait_us(10);
  }
}

TEST(Retransmission, NothingGoesWrongInAnOrderlyTransfer) {
  Conversation talk;
  talk.handshake();
  for (std::uint32_t i = 0; i < 100; ++i) {
    talk.data(i * kFull);
    talk.wait_us(100);
    talk.ack((i + 1) * kFull);
  }
  const DirectionFacts sent = talk.sent();
  EXPECT_EQ(sent.packets, 102U);  // SYN and the third of the handshake
  EXPECT_EQ(sent.payload_bytes, 100U * kFull);
  EXPECT_EQ(sent.unique_bytes, 100U * kFull);
  EXPECT_EQ(sent.retransmitted_packets + sent.out_of_order + sent.duplicates, 0U);
  EXPECT_EQ(talk.answered().duplicate_acks, 0U);
}

TEST(Retransmission, ReportedBySackIsFast) {
  Conversation talk;
  talk.handshake();
  send(talk, 10);
  talk.ack(kFull, {{2 * kFull, 3 * kFull}});
  talk.wait_us(10);
  talk.data(kFull);
  const DirectionFacts sent = talk.sent();
  EXPECT_EQ(sent.retransmitted_packets, 1U);
  EXPECT_EQ(sent.retransmitted_bytes, kFull);
  EXPECT_EQ(sent.retransmissions.fast, 1U);
  EXPECT_EQ(sent.lost_before_tap, 0U);
  EXPECT_TRUE(talk.answered().used_sack);
}

TEST(Retransmission, ReportedByThreeDuplicatesIsFast) {
  Conversation talk;
  talk.handshake();
  send(talk, 6);
  for (int i = 0; i < 4; ++i) {
    talk.ack(kFull);
  }
  talk.data(kFull);
  EXPECT_EQ(talk.answered().duplicate_acks, 3U);
  EXPECT_EQ(talk.sent().retransmissions.fast, 1U);
}

TEST(Retransmission, OnAPartialAnswerWithoutSackIsFast) {
  Conversation talk;
  talk.handshake();
  send(talk, 10);
  talk.ack(kFull);
  for (int i = 0; i < 3; ++i) {
    talk.ack(kFull);
  }
  talk.data(kFull);
  talk.wait_us(100);
  talk.ack(4 * kFull);
  talk.data(4 * kFull);
  EXPECT_EQ(talk.sent().retransmissions.fast, 2U);
}

TEST(Retransmission, OfWhatWasLostAgainIsATimeout) {
  Conversation talk;
  talk.handshake();
  send(talk, 6);
  talk.ack(kFull, {{2 * kFull, 6 * kFull}});
  talk.data(kFull);
  talk.wait_us(210'000);
  talk.data(kFull);
  EXPECT_EQ(talk.sent().retransmissions.fast, 1U);
  EXPECT_EQ(talk.sent().retransmissions.timeout, 1U);
}

TEST(Retransmission, SeenFarFromTheSenderIsNoTimeoutBecauseOfTheWay) {
  Conversation talk;
  // The tap is at the receiver, and the sender 300 ms away.
  packet::Packet syn = talk.packet_of(talk.client, talk.server, 0);
  syn.tcp.flags = packet::kSyn;
  syn.tcp.sequence = talk.client.initial_sequence;
  talk.take(syn);
  packet::Packet syn_ack = talk.packet_of(talk.server, talk.client, 0);
  syn_ack.tcp.flags = packet::kSyn | packet::kAck;
  syn_ack.tcp.sequence = talk.server.initial_sequence;
  syn_ack.tcp.acknowledgement = talk.client.initial_sequence + 1;
  talk.take(syn_ack);
  talk.wait_us(300'000);
  talk.data(0, 0);
  send(talk, 1);
  send(talk, 3, 2);
  talk.ack(kFull, {{2 * kFull, 5 * kFull}});
  talk.wait_us(300'000);
  talk.client.ip_id += 10;
  talk.data(kFull);
  EXPECT_EQ(talk.sent().retransmissions.fast, 1U);
  EXPECT_EQ(talk.sent().retransmissions.timeout, 0U);
}

TEST(Retransmission, IsNotTheSynOfASimultaneousOpening) {
  Conversation talk;
  const auto open = [&talk](const Side& from, const Side& to, std::uint8_t flags) {
    packet::Packet syn = talk.packet_of(from, to, 0);
    syn.tcp.flags = flags;
    syn.tcp.sequence = from.initial_sequence;
    syn.tcp.acknowledgement = to.initial_sequence + 1;
    talk.take(syn);
  };
  open(talk.client, talk.server, packet::kSyn);
  open(talk.server, talk.client, packet::kSyn);
  open(talk.client, talk.server, packet::kSyn | packet::kAck);
  open(talk.server, talk.client, packet::kSyn | packet::kAck);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  EXPECT_EQ(talk.answered().retransmitted_packets, 0U);
  open(talk.server, talk.client, packet::kSyn | packet::kAck);
  EXPECT_EQ(talk.answered().retransmitted_packets + talk.answered().duplicates, 1U);
}

TEST(Retransmission, AfterALongSilenceIsATimeoutAndAllThatFollowsToTheRecoveryPoint) {
  Conversation talk;
  talk.handshake();
  send(talk, 4);
  talk.wait_us(250'000);
  talk.data(0);
  talk.wait_us(100);
  talk.ack(kFull);
  talk.data(kFull);
  talk.data(2 * kFull);
  talk.ack(4 * kFull);
  talk.data(4 * kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 3U);
  EXPECT_EQ(talk.sent().retransmissions.timeout, 3U);
}

TEST(Retransmission, OfTheLastSegmentSoonIsAProbe) {
  Conversation talk;
  talk.handshake();
  send(talk, 4);
  talk.ack(2 * kFull);
  talk.wait_us(20'000);
  talk.data(3 * kFull);
  EXPECT_EQ(talk.sent().retransmissions.probe, 1U);
}

TEST(Retransmission, OfWhatWasAcknowledgedIsSpurious) {
  Conversation talk;
  talk.handshake();
  send(talk, 2);
  talk.wait_us(100);
  talk.ack(2 * kFull);
  talk.wait_us(5'000);
  talk.data(kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 1U);
  EXPECT_EQ(talk.sent().retransmissions.spurious, 1U);
}

TEST(Retransmission, IsSpuriousOnceThoughADsackSaysItTwice) {
  Conversation talk;
  talk.handshake();
  send(talk, 6);
  talk.ack(kFull, {{2 * kFull, 5 * kFull}});
  talk.data(kFull);
  talk.ack(6 * kFull, {{kFull, 2 * kFull}});
  talk.ack(6 * kFull, {{kFull, 2 * kFull}});
  EXPECT_EQ(talk.sent().retransmissions.fast, 1U);
  EXPECT_EQ(talk.sent().retransmissions.spurious, 1U);
  EXPECT_EQ(talk.answered().dsack_acks, 2U);
}

TEST(Retransmission, OfASynIsCountedWithoutBytes) {
  Conversation talk;
  packet::Packet syn = talk.packet_of(talk.client, talk.server, 0);
  syn.tcp.flags = packet::kSyn;
  syn.tcp.sequence = talk.client.initial_sequence;
  talk.take(syn);
  talk.wait_us(1'000'000);
  ++syn.ip_id;
  talk.take(syn);
  EXPECT_EQ(talk.engine.flows(), 1U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 1U);
  EXPECT_EQ(talk.sent().retransmitted_bytes, 0U);
  EXPECT_EQ(talk.sent().retransmissions.timeout, 1U);
}

TEST(Retransmission, OfASuperFrameCountsItsSegments) {
  Conversation talk;
  talk.handshake();
  talk.data(0, 10 * kFull);
  talk.wait_us(300'000);
  talk.data(0, 10 * kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 10U);
  EXPECT_EQ(talk.sent().retransmitted_bytes, 10U * kFull);
}

TEST(Retransmission, ThatRunsOnIntoNewDataCountsOnlyTheOld) {
  Conversation talk;
  talk.handshake();
  talk.data(0, 1'000);
  talk.wait_us(300'000);
  talk.data(0, 1'400);
  EXPECT_EQ(talk.sent().retransmitted_bytes, 1'000U);
  EXPECT_EQ(talk.sent().unique_bytes, 1'400U);
}

TEST(Retransmission, LostBeforeTheTapIsKnownByItsLaterId) {
  Conversation talk;
  talk.handshake();
  send(talk, 4);
  ++talk.client.ip_id;  // the one that was lost
  send(talk, 4, 5);
  talk.wait_us(50);
  talk.data(4 * kFull);
  EXPECT_EQ(talk.sent().retransmitted_packets, 1U);
  EXPECT_EQ(talk.sent().lost_before_tap, 1U);
  EXPECT_EQ(talk.sent().out_of_order, 0U);
  EXPECT_EQ(talk.sent().unique_bytes, 9U * kFull);
}

TEST(Reordering, IsKnownByTheEarlierId) {
  Conversation talk;
  talk.handshake();
  send(talk, 4);
  packet::Packet late = talk.data_packet(4 * kFull, kFull);
  send(talk, 3, 5);
  talk.ack(4 * kFull, {{5 * kFull, 6 * kFull}});
  talk.ack(4 * kFull, {{5 * kFull, 7 * kFull}});
  talk.ack(4 * kFull, {{5 * kFull, 8 * kFull}});
  talk.take(late);
  EXPECT_EQ(talk.sent().out_of_order, 1U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
}

TEST(Reordering, IsKnownByTheEarlierTimestampWhereThereAreNoIds) {
  Conversation talk;
  talk.has_timestamps = true;
  talk.mss = kFull + 12;
  talk.is_ipv6 = true;
  talk.handshake();
  send(talk, 4);
  packet::Packet late = talk.data_packet(4 * kFull, kFull);
  talk.wait_us(2'000);
  send(talk, 3, 5);
  talk.wait_us(30'000);
  talk.take(late);
  EXPECT_EQ(talk.sent().out_of_order, 1U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
}

TEST(Reordering, IsKnownByItsHasteWhereThereIsNothingElse) {
  Conversation talk;
  talk.is_ipv6 = true;
  talk.handshake(20'000);
  send(talk, 4);
  send(talk, 3, 5);
  talk.data(4 * kFull);
  EXPECT_EQ(talk.sent().out_of_order, 1U);
  send(talk, 3, 9);
  talk.ack(8 * kFull, {{9 * kFull, 10 * kFull}});
  talk.wait_us(20'000);
  talk.data(8 * kFull);
  EXPECT_EQ(talk.sent().out_of_order, 1U);
  EXPECT_EQ(talk.sent().lost_before_tap, 1U);
}

TEST(Copies, OfTheNetworkAreNoRetransmissions) {
  Conversation talk;
  talk.handshake();
  for (std::uint32_t i = 0; i < 5; ++i) {
    const packet::Packet packet = talk.data_packet(i * kFull, kFull);
    talk.take(packet);
    talk.take(packet);
    talk.ack((i + 1) * kFull);
  }
  EXPECT_EQ(talk.sent().duplicates, 5U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
  EXPECT_EQ(talk.sent().packets, 12U);  // they were on this wire
}

TEST(Copies, AreKnownAfterTheirAcknowledgement) {
  Conversation talk;
  talk.handshake();
  const packet::Packet packet = talk.data_packet(0, kFull);
  talk.take(packet);
  talk.ack(kFull);
  talk.take(packet);
  EXPECT_EQ(talk.sent().duplicates, 1U);
  EXPECT_EQ(talk.sent().retransmitted_packets, 0U);
}

TEST(Copies, OnAnotherInterfaceAreNoVolume) {
  Conversation talk;
  talk.handshake();
  const packet::Packet packet = talk.data_packet(0, kFull);
  const packet::Packet answer = talk.ack_packet(kFull);
  for (const std::uint32_t interface : {0U, 1U}) {
    talk.interface = interface;
    talk.take(packet);
  }
  for (const std::uint32_t interface : {1U, 0U}) {
    talk.interface = interface;
    talk.take(answer);
  }
  EXPECT_EQ(talk.sent().payload_bytes, kFull);
  EXPECT_EQ(talk.sent().duplicates, 1U);
  EXPECT_EQ(talk.answered().duplicate_acks, 0U);
  EXPECT_EQ(talk.answered().duplicates, 1U);
}

TEST(Copies, ThatBringMoreAreNone) {
  Conversation talk;
  talk.handshake();
  packet::Packet packet = talk.data_packet(0, 1'000);
  talk.take(packet);
  talk.interface = 1;
  packet.payload_bytes = 1'400;
  EXPECT_FALSE(talk.take(packet).is_copy);
  EXPECT_EQ(talk.sent().unique_bytes, 1'400U);
  EXPECT_EQ(talk.sent().payload_bytes, 2'400U);
}

}  // namespace
}  // namespace chokepoint::capture::flow
