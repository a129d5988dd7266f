// Sequence numbers of a queue pair: losses and repetitions that tracker.cc finds in them.
#include <gtest/gtest.h>

#include "tests/capture/roce/sender.h"

namespace chokepoint::capture::roce {
namespace {

TEST(RoceSequence, TellsWhatIsMissing) {
  Sender sender;
  sender.send(kSendOnly, 10, 8);
  sender.send(kSendOnly, 14, 8);
  EXPECT_EQ(sender.facts().missing_packets, 3U);
}

TEST(RoceSequence, DoesNotMissWhatComesLater) {
  Sender sender;
  for (const std::uint32_t psn : {10U, 14U, 12U, 13U, 11U, 15U}) {
    sender.send(kSendOnly, psn, 8);
  }
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.missing_packets, 0U);
  EXPECT_EQ(facts.filled_packets, 3U);
  EXPECT_EQ(facts.retransmitted_packets, 0U);
  EXPECT_EQ(facts.messages, 6U);
}

TEST(RoceSequence, CountsWhatIsSentAgainOnceInTheMessages) {
  Sender sender;
  for (const std::uint32_t psn : {10U, 11U, 12U, 10U, 11U, 12U, 13U}) {
    sender.send(kSendOnly, psn, 8);
  }
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.retransmitted_packets, 3U);
  EXPECT_EQ(facts.retransmitted_bytes, 3U * (42 + 12 + 8 + 4));
  EXPECT_EQ(facts.messages, 4U);
  EXPECT_EQ(facts.payload_bytes, 4U * 8);
}

TEST(RoceSequence, SeesWhatGoesBackToTheFirstLostOne) {
  Sender sender;
  for (const std::uint32_t psn : {10U, 12U, 13U, 11U, 12U, 13U, 14U}) {
    sender.send(kSendOnly, psn, 8);
  }
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.missing_packets, 0U);
  EXPECT_EQ(facts.filled_packets, 1U);
  EXPECT_EQ(facts.retransmitted_packets, 2U);
}

TEST(RoceSequence, CountsOverTheEndOfTheNumbers) {
  Sender sender;
  sender.send(kSendOnly, kMask - 1, 8);
  sender.send(kSendOnly, kMask, 8);
  sender.send(kSendOnly, 0, 8);
  sender.send(kSendOnly, 2, 8);
  sender.send(kSendOnly, kMask, 8);
  sender.send(kSendOnly, 1, 8);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.missing_packets, 0U);
  EXPECT_EQ(facts.filled_packets, 1U);
  EXPECT_EQ(facts.retransmitted_packets, 1U);
  EXPECT_EQ(facts.restarts, 0U);
}

TEST(RoceSequence, TellsAQueuePairUsedAnewFromAnEnormousLoss) {
  Sender sender;
  sender.send(kSendOnly, 10, 8);
  sender.send(kSendOnly, 5'000'000, 8);
  sender.send(kSendOnly, 5'000'001, 8);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.restarts, 1U);
  EXPECT_EQ(facts.missing_packets, 0U);
  EXPECT_EQ(facts.retransmitted_packets, 0U);
}

TEST(RoceSequence, LeavesReadsTheNumbersOfTheirAnswers) {
  Sender sender;
  sender.send(kSendFirst, 99, kMtu);
  sender.send(kSendLast, 100, 1);
  sender.read(101, 10 * kMtu + 1);
  sender.send(kSendOnly, 112, 8);
  sender.read(113, 0);
  sender.send(kSendOnly, 114, 8);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.read_requests, 2U);
  EXPECT_EQ(facts.missing_packets, 0U);
}

TEST(RoceSequence, CountsTheNumbersOfAReadInWholePackets) {
  Sender sender;
  sender.send(kSendFirst, 99, kMtu);
  sender.send(kSendLast, 100, 1);
  sender.read(101, 64 * kMtu);
  sender.send(kSendOnly, 101 + 64, 8);
  sender.send(kSendOnly, 101 + 66, 8);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.mtu, kMtu);
  EXPECT_EQ(facts.missing_packets, 1U);
  EXPECT_EQ(facts.retransmitted_packets, 0U);
}

TEST(RoceSequence, FindsTheMtuFromWhatFollowsARead) {
  Sender sender;
  sender.read(100, 65'536);
  sender.read(116, 65'536);
  EXPECT_EQ(sender.facts().mtu, 4'096U);
  sender.read(140, 65'536);
  EXPECT_EQ(sender.facts().missing_packets, 8U) << "now that it is known";
}

TEST(RoceSequence, KeepsAnswersApartFromRequestsOfTheSameHost) {
  Sender sender;
  sender.send(kSendOnly, 10, 8);
  sender.send(kReadFirst, 900'000, kMtu);
  sender.send(kSendOnly, 11, 8);
  sender.send(kReadMiddle, 900'001, kMtu);
  sender.acknowledge(900'050, 0x1f);
  sender.send(kReadLast, 900'002, 4);
  sender.send(kReadOnly, 900'060, 4);
  sender.send(kSendOnly, 12, 8);
  const QueuePairFacts facts = sender.facts();
  EXPECT_EQ(facts.missing_packets, 0U) << "between two answers stand numbers of other requests";
  EXPECT_EQ(facts.retransmitted_packets, 0U);
  EXPECT_EQ(facts.restarts, 0U);
  EXPECT_EQ(facts.messages, 5U);
  EXPECT_EQ(facts.acknowledgements, 1U);
}

TEST(RoceSequence, MissesPacketsInsideAnAnswer) {
  Sender sender;
  sender.send(kReadFirst, 10, kMtu);
  sender.send(kReadLast, 13, 4);
  EXPECT_EQ(sender.facts().missing_packets, 2U);
}

TEST(RoceSequence, TellsACopyFromWhatIsSentAgain) {
  Sender sender;
  packet::Packet packet = sender.made(kSendOnly, 10, 8);
  packet.has_ip_id = true;
  packet.ip_id = 7;
  sender.tracker.take(packet);
  sender.tracker.take(packet);
  packet.ip_id = 8;
  sender.tracker.take(packet);
  EXPECT_EQ(sender.facts().duplicates, 1U);
  EXPECT_EQ(sender.facts().retransmitted_packets, 1U);
}

TEST(RoceSequence, SurvivesGapsWithoutEnd) {
  Sender sender;
  std::uint64_t missing = 0;
  for (std::uint32_t step = 0; step < 10'000; ++step) {
    sender.send(kSendOnly, step * 3, 8);
    missing += step == 0 ? 0 : 2;
  }
  EXPECT_EQ(sender.facts().missing_packets, missing);
}

}  // namespace
}  // namespace chokepoint::capture::roce
