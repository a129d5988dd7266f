#include "capture/gloo/collectives.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::gloo {
namespace {

using fakes::kSecond;

packet::Ends ends_to(std::uint64_t peer) {
  packet::Ends ends;
  ends.source.words = {0, 1};
  ends.destination.words = {0, peer};
  return ends;
}

Message message_of(Opcode opcode, Kind kind, std::uint32_t tag, std::uint64_t bytes,
                   std::int64_t first_ns, std::int64_t last_ns = 0) {
  Message message;
  message.kind = kind;
  message.opcode = opcode;
  message.tag = tag;
  const bool is_ready = opcode == Opcode::SendReady || opcode == Opcode::ReceiveReady;
  message.payload_bytes = is_ready ? 0 : bytes;
  message.announced_bytes = is_ready ? bytes : 0;
  message.first_byte_ns = first_ns;
  message.last_byte_ns = last_ns == 0 ? first_ns : last_ns;
  message.is_whole = true;
  return message;
}

Message missed(std::uint64_t bytes, std::int64_t first_ns, std::int64_t last_ns) {
  return message_of(Opcode::Buffer, Kind::Unknown, 0, bytes, first_ns, last_ns);
}

class GlooCollectives : public testing::Test {
 protected:
  Collectives made(const CollectiveLimits& limits = {}) {
    return Collectives([this](const Collective& each) { over.push_back(each); }, limits);
  }

  // This node's buffer to a peer that is ready at once.
  static void transfer(Collectives& to, std::uint32_t connection, Kind kind, std::uint32_t tag,
                       std::uint64_t bytes, std::int64_t at_ns) {
    to.take(connection, true, message_of(Opcode::SendReady, kind, tag, bytes, at_ns));
    to.take(connection, false, message_of(Opcode::ReceiveReady, kind, tag, bytes, at_ns + 1));
    to.take(connection, true,
            message_of(Opcode::UnboundBuffer, kind, tag, bytes, at_ns + 2, at_ns + 9));
  }

  std::vector<Collective> over;
};

TEST_F(GlooCollectives, TellsWhoWasReadyWhenAndWhatPassed) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::Broadcast, 5, 1'000, 100);
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].kind, Kind::Broadcast);
  EXPECT_EQ(over[0].number, 5U);
  EXPECT_EQ(over[0].start_ns, 100);
  EXPECT_EQ(over[0].end_ns, 109);
  EXPECT_EQ(over[0].sent_bytes(), 1'000U);
  EXPECT_EQ(over[0].received_bytes(), 0U);
  const Share& share = over[0].shares.at(0);
  EXPECT_EQ(ready_ns(share.sent), 100);
  EXPECT_EQ(ready_ns(share.received), 101);
  EXPECT_EQ(share.sent.first_data_ns, 102);
  EXPECT_EQ(share.sent.last_data_ns, 109);
}

TEST_F(GlooCollectives, JoinsTheConnectionsOfOneGroupAndKeepsGroupsApart) {
  Collectives collectives = made();
  const std::uint32_t to_2 = collectives.connect(ends_to(2));
  const std::uint32_t to_3 = collectives.connect(ends_to(3));
  const std::uint32_t second_to_2 = collectives.connect(ends_to(2));
  for (const std::uint32_t connection : {to_2, to_3, second_to_2}) {
    transfer(collectives, connection, Kind::AllReduce, 0, 10, 100);
  }
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[0].shares.size(), 2U);
  EXPECT_EQ(over[0].sent_bytes(), 20U);
  EXPECT_EQ(over[1].group, 1U);
  EXPECT_EQ(over[1].shares.size(), 1U);
}

TEST_F(GlooCollectives, GivesAConnectionsGroupToTheOneThatReplacesIt) {
  Collectives collectives = made();
  const std::uint32_t first = collectives.connect(ends_to(2));
  collectives.disconnect(first);
  transfer(collectives, first, Kind::AllReduce, 0, 10, 100);
  EXPECT_EQ(collectives.open(), 0U) << "it is gone";
  transfer(collectives, collectives.connect(ends_to(2)), Kind::AllReduce, 0, 10, 100);
  collectives.settle(0, true);
  EXPECT_EQ(over.at(0).group, 0U);
}

constexpr std::int64_t kTenth = kSecond / 10;

TEST_F(GlooCollectives, AreOverSoonWhereTheirGroupHasGoneOn) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond);
  collectives.settle(kSecond + 2 * kTenth);
  EXPECT_TRUE(over.empty()) << "nothing else has begun";
  transfer(collectives, peer, Kind::AllReduce, 2, 10, kSecond + 2 * kTenth);
  collectives.settle(kSecond + 2 * kTenth + 100);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].number, 1U);
}

// More than PyTorch has under way at once, so nothing of it is still to come, whatever pauses were.
TEST_F(GlooCollectives, AreOverWhereThreeOthersHaveBegunSince) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond);
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond + 2 * kTenth);
  for (std::uint32_t number = 2; number < 4; ++number) {
    transfer(collectives, peer, Kind::AllReduce, number, 10,
             kSecond + 2 * kTenth + number * 1'000'000);
  }
  const std::int64_t now_ns = kSecond + 2 * kTenth + kTenth / 2;
  collectives.settle(now_ns);
  EXPECT_TRUE(over.empty()) << "the pause was 200 ms";
  transfer(collectives, peer, Kind::AllReduce, 4, 10, now_ns);
  collectives.settle(now_ns);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].number, 1U);
}

TEST_F(GlooCollectives, OfAnotherGroupSayNothing) {
  Collectives collectives = made();
  transfer(collectives, collectives.connect(ends_to(2)), Kind::AllReduce, 1, 10, kSecond);
  transfer(collectives, collectives.connect(ends_to(2)), Kind::AllReduce, 2, 10, kSecond + kTenth);
  collectives.settle(kSecond + 5 * kTenth);
  EXPECT_TRUE(over.empty());
}

// Of a collective to several peers, or of several rounds, more came after 60 ms.
TEST_F(GlooCollectives, ArePatientWherePausesWereSeen) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond);
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond + 60'000'000);
  transfer(collectives, peer, Kind::AllReduce, 2, 10, kSecond + kTenth);
  collectives.settle(kSecond + 2 * kTenth + kTenth / 2);
  EXPECT_TRUE(over.empty());
  collectives.settle(kSecond + 3 * kTenth + kTenth / 2);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].sent_bytes(), 20U);
}

TEST_F(GlooCollectives, WaitsLongForARankThatIsLateAndShortlyWhenAllHasCome) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, kSecond);
  collectives.take(peer, true, message_of(Opcode::SendReady, Kind::AllReduce, 2, 10, kSecond));
  collectives.settle(kSecond + kSecond / 2);
  EXPECT_TRUE(over.empty());
  collectives.settle(3 * kSecond);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].number, 1U);
  collectives.settle(200 * kSecond);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_FALSE(is_settled(over[1]));
}

TEST_F(GlooCollectives, TellOfAWaitOnceAndAgainAfterAMessage) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 0, 10, 100);
  const auto ready = [&](bool is_sent, Opcode opcode, std::int64_t at_ns) {
    collectives.take(peer, is_sent, message_of(opcode, Kind::AllReduce, 1, 10, at_ns));
  };
  ready(true, Opcode::SendReady, kSecond);
  std::vector<Collective> waiting;
  const auto tell = [&](std::int64_t now_ns) {
    waiting.clear();
    collectives.report_waiting(now_ns, [&](const Collective& each) { waiting.push_back(each); });
    return waiting.size();
  };
  EXPECT_EQ(tell(2 * kSecond), 0U);
  ASSERT_EQ(tell(3 * kSecond), 1U);
  EXPECT_EQ(waiting[0].number, 1U);
  EXPECT_EQ(tell(4 * kSecond), 0U);
  ready(false, Opcode::SendReady, 5 * kSecond);
  EXPECT_EQ(tell(7 * kSecond), 1U);
  EXPECT_TRUE(over.empty());
}

TEST_F(GlooCollectives, OpensOneAnewForAMessageThatComesAfterItsEnd) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, 1);
  collectives.settle(5 * kSecond);
  transfer(collectives, peer, Kind::AllReduce, 1, 7, 6 * kSecond);
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[0].sent_bytes() + over[1].sent_bytes(), 17U);
}

TEST_F(GlooCollectives, DeducesABufferWhoseHeaderWasMissedFromWhatAnnouncedIt) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, 1);
  collectives.take(peer, false, message_of(Opcode::ReceiveReady, Kind::AllGather, 2, 5'000, 20));
  collectives.take(peer, true, missed(5'048 + 48, 30, 40));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[1].kind, Kind::AllGather);
  EXPECT_EQ(over[1].sent_bytes(), 5'000U);
  EXPECT_EQ(over[1].shares.at(0).sent.deduced_bytes, 5'000U);
  EXPECT_EQ(over[1].shares.at(0).sent.first_data_ns, 30);
  EXPECT_TRUE(is_settled(over[1]));
  EXPECT_EQ(over[0].sent_bytes(), 10U) << "the rest of the gap was a ready message";
}

// A stretch is told when the next header is read, which may be in the next collective.
TEST_F(GlooCollectives, DeducesNoBufferThatWasAnnouncedOnlyAfterTheStretch) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 5, 5'000, 10);
  collectives.take(peer, false, message_of(Opcode::ReceiveReady, Kind::AllReduce, 6, 5'000, 100));
  collectives.take(peer, true, missed(5'048, 20, 30));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[1].number, 6U);
  EXPECT_EQ(over[1].sent_bytes(), 0U);
}

TEST_F(GlooCollectives, GivesWhatNothingAnnouncedToTheCollectiveThatWasUnderWay) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  collectives.take(peer, true, missed(9'048, 1, 2));
  EXPECT_EQ(collectives.open(), 0U) << "none was";
  transfer(collectives, peer, Kind::AllReduce, 1, 10, 3);
  collectives.take(peer, true, missed(9'048, 20, 30));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].sent_bytes(), 9'010U);
  EXPECT_EQ(over[0].end_ns, 30);
}

TEST_F(GlooCollectives, TakesEachSendAndReceiveForItself) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  for (std::int64_t i = 0; i < 3; ++i) {
    transfer(collectives, peer, Kind::PointToPoint, 0, 10, 10 * i);
  }
  EXPECT_EQ(over.size(), 3U);
  EXPECT_EQ(collectives.open(), 0U);
}

TEST_F(GlooCollectives, TellsByWhenWhatWasOutOfSightHadPassed) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, 1);
  collectives.take(peer, true, missed(5'000, 20, 30));
  transfer(collectives, peer, Kind::AllReduce, 2, 10, 50);
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[0].shares.at(0).sent.hidden_by_ns, 0);
  EXPECT_EQ(over[1].shares.at(0).sent.hidden_by_ns, 30);
  EXPECT_EQ(over[1].shares.at(0).received.hidden_by_ns, 0);
}

TEST_F(GlooCollectives, WhatWasOutOfSightLongBeforeIsOfAnother) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  transfer(collectives, peer, Kind::AllReduce, 1, 10, 1);
  collectives.take(peer, true, missed(5'000, 20, 30));
  transfer(collectives, peer, Kind::AllReduce, 2, 10, 20'000'000);
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[1].shares.at(0).sent.hidden_by_ns, 0);
}

// The middle one of three ranks: what it sends on and what comes back to it have the same tag.
TEST_F(GlooCollectives, TransfersOfOneTagAreToldApartByConnectionAndWay) {
  Collectives collectives = made();
  const std::uint32_t before = collectives.connect(ends_to(2));
  const std::uint32_t behind = collectives.connect(ends_to(3));
  const auto ready = [](Opcode opcode, std::int64_t at_ns) {
    return message_of(opcode, Kind::PointToPoint, 7, 10, at_ns);
  };
  collectives.take(before, false, ready(Opcode::SendReady, 100));
  collectives.take(behind, true, ready(Opcode::ReceiveReady, 110));
  collectives.take(behind, true, ready(Opcode::SendReady, 120));
  collectives.take(behind, false, ready(Opcode::ReceiveReady, 130));
  EXPECT_EQ(collectives.open(), 3U);
  collectives.take(behind, true, ready(Opcode::UnboundBuffer, 140));
  ASSERT_EQ(over.size(), 1U);
  EXPECT_TRUE(over[0].is_send);
  EXPECT_EQ(over[0].start_ns, 120);
  EXPECT_EQ(over[0].shares.size(), 1U);
  EXPECT_EQ(ready_ns(over[0].shares[0].sent), 120);
  EXPECT_EQ(ready_ns(over[0].shares[0].received), 130);
  collectives.take(behind, false, ready(Opcode::SendReady, 150));
  collectives.take(behind, false, ready(Opcode::UnboundBuffer, 160));
  ASSERT_EQ(over.size(), 2U);
  EXPECT_FALSE(over[1].is_send);
  EXPECT_EQ(ready_ns(over[1].shares[0].sent), 110);
  EXPECT_EQ(ready_ns(over[1].shares[0].received), 150);
}

TEST_F(GlooCollectives, TransfersOfOneTagThatAreUnderWayAtOnceKeepTheirOrder) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  for (const std::int64_t at_ns : {10, 20, 30}) {
    collectives.take(peer, true, message_of(Opcode::ReceiveReady, Kind::PointToPoint, 0, 5, at_ns));
  }
  for (const std::int64_t at_ns : {100, 200, 300}) {
    collectives.take(peer, false, message_of(Opcode::SendReady, Kind::PointToPoint, 0, 5, at_ns));
    collectives.take(peer, false,
                     message_of(Opcode::UnboundBuffer, Kind::PointToPoint, 0, 5, at_ns + 1));
  }
  ASSERT_EQ(over.size(), 3U);
  EXPECT_EQ(ready_ns(over[1].shares.at(0).sent), 20);
  EXPECT_EQ(ready_ns(over[1].shares.at(0).received), 200);
  EXPECT_EQ(ready_ns(over[2].shares.at(0).sent), 30);
}

TEST_F(GlooCollectives, StaysWithinItsMemory) {
  Collectives collectives = made({.connections = 2, .open = 4, .shares = 1});
  const std::uint32_t first = collectives.connect(ends_to(2));
  const std::uint32_t second = collectives.connect(ends_to(3));
  EXPECT_EQ(collectives.connect(ends_to(4)), Collectives::kNoConnection);
  for (std::uint32_t tag = 0; tag < 1'000; ++tag) {
    for (const std::uint32_t connection : {first, second, Collectives::kNoConnection}) {
      collectives.take(connection, true,
                       message_of(Opcode::SendReady, Kind::AllReduce, tag, 10, tag + 1));
    }
    ASSERT_LE(collectives.open(), 4U);
  }
  EXPECT_EQ(collectives.evicted(), 996U);
  EXPECT_EQ(over.front().number, 0U) << "the oldest goes first";
  EXPECT_EQ(over.front().shares.size(), 1U);
}

// Two collectives under way at once: only one choice of their buffers has the stretch's bytes.
TEST_F(GlooCollectives, AMissedStretchHasTheBuffersWhoseBytesItHas) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  constexpr Kind kKind = Kind::AllReduce;
  const auto credit = [&](std::uint32_t tag, std::uint64_t bytes, std::int64_t at_ns) {
    collectives.take(peer, true, message_of(Opcode::ReceiveReady, kKind, tag, bytes, at_ns));
  };
  credit(1, 10'000, 1);
  credit(1, 10'000, 2);
  credit(2, 7'000, 3);
  credit(2, 7'000, 4);
  // One of the first's, two of the second's and a ready message.
  collectives.take(peer, false, missed(10'048 + 2 * 7'048 + 48, 10, 100));
  collectives.take(peer, false, message_of(Opcode::UnboundBuffer, kKind, 1, 10'000, 110, 120));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[0].received_bytes(), 20'000U);
  EXPECT_EQ(over[0].end_ns, 120);
  EXPECT_EQ(over[1].received_bytes(), 14'000U);
  EXPECT_NEAR(static_cast<double>(over[1].end_ns), 100, 1);
}

// What was deduced and comes after all shows that another one had come.
TEST_F(GlooCollectives, AWrongDeductionIsTakenBack) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  constexpr Kind kKind = Kind::AllReduce;
  for (const std::uint32_t tag : {1U, 2U}) {
    collectives.take(peer, true, message_of(Opcode::ReceiveReady, kKind, tag, 5'000, tag));
  }
  collectives.take(peer, false, missed(5'048, 10, 100));  // taken for the first's
  collectives.take(peer, false, message_of(Opcode::UnboundBuffer, kKind, 1, 5'000, 110, 120));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[1].number, 2U);
  EXPECT_EQ(over[1].received_bytes(), 5'000U);
  EXPECT_EQ(over[1].end_ns, 100);
}

// A connection's buffers leave in the order in which both sides were ready for them.
TEST_F(GlooCollectives, WhatBothWereReadyForEarlierHasComeBefore) {
  Collectives collectives = made();
  const std::uint32_t peer = collectives.connect(ends_to(2));
  constexpr Kind kKind = Kind::AllReduce;
  for (const std::uint32_t tag : {1U, 2U}) {
    const std::int64_t at_ns = 10 * static_cast<std::int64_t>(tag);
    collectives.take(peer, false, message_of(Opcode::SendReady, kKind, tag, 5'000, at_ns));
    collectives.take(peer, true, message_of(Opcode::ReceiveReady, kKind, tag, 5'000, at_ns));
  }
  collectives.take(peer, false, missed(500, 50, 60));
  collectives.take(peer, false, message_of(Opcode::UnboundBuffer, kKind, 2, 5'000, 110, 120));
  collectives.take(peer, false, missed(5'048, 900, 1'000));
  collectives.settle(0, true);
  ASSERT_EQ(over.size(), 2U);
  EXPECT_EQ(over[0].number, 1U);
  EXPECT_EQ(over[0].end_ns, 60);
}

}  // namespace
}  // namespace chokepoint::capture::gloo
