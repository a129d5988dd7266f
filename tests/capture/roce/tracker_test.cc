#include <gtest/gtest.h>

#include "tests/capture/roce/sender.h"

namespace chokepoint::capture::roce {
namespace {

TEST(RoceTracker, CountsMessagesAndTheirBytesOfSendsAndWrites) {
  Sender sender;
  sender.send(kWriteFirst, 100, kMtu);
  sender.send(kWriteMiddle, 101, kMtu);
  sender.send(kWriteLast, 102, 10);
  sender.send(kSendOnly, 103, 64);
  sender.send(kSendFirst, 104, kMtu);
  sender.send(kSendLast, 105, 1);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.queue_pair, 17U);
  EXPECT_EQ(facts.packets, 6U);
  EXPECT_EQ(facts.messages, 3U);
  EXPECT_EQ(facts.payload_bytes, 3 * kMtu + 10 + 64 + 1);
  EXPECT_EQ(facts.mtu, kMtu);
  EXPECT_EQ(facts.missing_packets, 0U);
  EXPECT_EQ(facts.first_ns, 1);
  EXPECT_EQ(facts.last_ns, 6);
}

TEST(RoceTracker, CountsDataWithoutHeadersPadAndCheck) {
  Sender sender;
  sender.send(kWriteFirst, 1, 1'024);
  sender.send(kWriteMiddle, 2, 1'024);
  sender.send(kWriteLast, 3, 1'024);
  EXPECT_EQ(sender.facts().payload_bytes, 3'072U);
  EXPECT_EQ(sender.facts().mtu, 1'024U);
  EXPECT_EQ(sender.facts().bytes, 3U * (14 + 20 + 8 + 12 + 1'024 + 4) + 16) << "one has a RETH";
  sender.send(kSendOnly, 4, 5);
  EXPECT_EQ(sender.facts().payload_bytes, 3'077U) << "without the three bytes of the pad";
}

TEST(RoceTracker, KnowsEachOpcodeClass) {
  for (const int service : {0x00, 0x20, 0x40, 0xa0}) {
    for (const int code : {0x02, 0x03, 0x04, 0x05, 0x08, 0x09, 0x0a, 0x0b, 0x16, 0x17}) {
      Sender sender;
      sender.send(static_cast<std::uint8_t>(service | code), 5, 100);
      EXPECT_EQ(sender.facts().messages, 1U) << service << ' ' << code;
      EXPECT_EQ(sender.facts().payload_bytes, 100U) << service << ' ' << code;
    }
  }
  Sender sender;
  sender.send(0x1f, 1);
  EXPECT_EQ(sender.facts().unknown_packets, 1U) << "a reserved code";
}

TEST(RoceTracker, KnowsTheAnswersOfEachService) {
  for (const int service : {0x00, 0x40, 0xa0}) {
    Sender sender;
    sender.send(static_cast<std::uint8_t>(service | kReadFirst), 5, kMtu);
    sender.send(static_cast<std::uint8_t>(service | kReadMiddle), 6, kMtu);
    sender.send(static_cast<std::uint8_t>(service | kReadLast), 7, 1);
    sender.tracker.take(
        sender.made(static_cast<std::uint8_t>(service | kAck), 8, 0, {.syndrome = 0x60}));
    const QueuePairFacts facts = sender.facts();
    EXPECT_EQ(facts.payload_bytes, 2 * kMtu + 1) << service;
    EXPECT_EQ(facts.mtu, kMtu) << service;
    EXPECT_EQ(facts.messages, 1U) << service;
    EXPECT_EQ(facts.sequence_naks, 1U) << service;
  }
}

TEST(RoceTracker, CountsAtomics) {
  Sender sender;
  sender.send(kCompareSwap, 9);
  sender.send(kFetchAdd, 10);
  sender.send(kAtomicAck, 55);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.atomics, 2U);
  EXPECT_EQ(facts.acknowledgements, 1U);
  EXPECT_EQ(facts.messages, 0U);
  EXPECT_EQ(facts.missing_packets, 0U);
}

TEST(RoceTracker, TellsAcknowledgementsFromEachKindOfRefusal) {
  Sender sender;
  sender.acknowledge(1, 0x00);
  sender.acknowledge(2, 0x1f);
  sender.acknowledge(3, 0x20);
  sender.acknowledge(4, 0x60);
  sender.acknowledge(5, 0x62);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.acknowledgements, 2U);
  EXPECT_EQ(facts.receiver_not_ready, 1U);
  EXPECT_EQ(facts.sequence_naks, 1U);
  EXPECT_EQ(facts.other_naks, 1U);
}

TEST(RoceTracker, CountsCongestionNotificationsAndMarks) {
  Sender sender;
  sender.send(kSendOnly, 10, 8);
  sender.send(kCongestion, 0);
  packet::Packet marked = sender.made(kSendOnly, 11, 8);
  marked.congestion_bits = 3;
  sender.tracker.take(marked);
  packet::Packet able = sender.made(kSendOnly, 12, 8);
  able.congestion_bits = 2;
  sender.tracker.take(able);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.congestion_notifications, 1U);
  EXPECT_EQ(facts.congestion_marks, 1U);
  EXPECT_EQ(facts.missing_packets, 0U);
}

TEST(RoceTracker, ExpectsNoOrderOfDatagramsOfSeveralSenders) {
  Sender sender;
  for (const std::uint32_t psn : {10U, 5'000U, 11U, 5'001U}) {
    sender.send(kDatagramSendOnly, psn, 100);
  }
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.messages, 4U);
  EXPECT_EQ(facts.payload_bytes, 400U);
  EXPECT_EQ(facts.missing_packets + facts.retransmitted_packets, 0U);
}

TEST(RoceTracker, DoesNotLetSourcePortsSplitAQueuePair) {
  Sender sender;
  for (std::uint32_t psn = 0; psn < 20; ++psn) {
    sender.send(kSendOnly, psn, 8);
  }
  EXPECT_EQ(sender.all().size(), 1U);
}

TEST(RoceTracker, MakesRoomByTheLongestIdleOne) {
  Sender sender(17, 4);
  for (std::uint32_t number = 0; number < 6; ++number) {
    packet::Packet packet = sender.made(kSendOnly, 10, 8);
    packet.roce.queue_pair = number;
    sender.tracker.take(packet);
    packet.roce.queue_pair = 0;
    packet.roce.sequence = 11 + number;
    sender.tracker.take(packet);
  }
  const auto all = sender.all();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.back().queue_pair, 0U);
  EXPECT_EQ(all.back().packets, 7U) << "always used, never replaced";
  EXPECT_EQ(sender.tracker.folded(), 2U);
}

TEST(RoceTracker, StaysWithinItsMemoryUnderAFloodOfNumbers) {
  Sender sender(17, 64);
  constexpr std::uint32_t kFlood = 100'000;
  packet::Packet packet = sender.made(kSendOnly, 0, 8);
  for (std::uint32_t number = 0; number < kFlood; ++number) {
    packet.roce.queue_pair = number;
    packet.roce.sequence = number * 7919 & kMask;
    sender.tracker.take(packet);
  }
  EXPECT_EQ(sender.all().size(), 64U);
  EXPECT_EQ(sender.tracker.folded(), kFlood - 64);
}

}  // namespace
}  // namespace chokepoint::capture::roce
