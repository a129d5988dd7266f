#include "capture/gloo/follower.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/capture/gloo/made_header.h"

namespace chokepoint::capture::gloo {
namespace {

// A stream of messages whose payload is zeros, and a follower to which any part of it can be shown.
class Stream {
 public:
  std::uint64_t add(Kind kind, std::uint32_t tag, std::uint64_t length,
                    Opcode opcode = Opcode::UnboundBuffer) {
    const std::uint64_t begin = bytes.size();
    const Header header = header_of(kind, tag, opcode, length);
    append(bytes, header);
    bytes.resize(begin + header.message_bytes);
    return begin;
  }

  void show(std::uint64_t from, std::uint64_t until, std::size_t snapshot = kSnapshot) {
    const std::size_t captured = std::min<std::size_t>(snapshot, until - from);
    ++now;
    follower.take({.time_ns = now,
                   .offset = from,
                   .bytes = static_cast<std::uint32_t>(until - from),
                   .captured = std::span(bytes).subspan(from, captured)},
                  [this](const Message& message) { messages.push_back(message); });
  }

  Bytes bytes;
  std::int64_t now = 0;
  Follower follower;
  std::vector<Message> messages;
};

TEST(GlooFollower, TellsAMessageWithItsFirstAndItsLastByte) {
  Stream stream;
  stream.add(Kind::AllReduce, 7, 3'000);
  stream.show(0, 1'448);
  stream.show(1'448, 2'896);
  EXPECT_TRUE(stream.messages.empty());
  stream.show(2'896, 3'048);
  ASSERT_EQ(stream.messages.size(), 1U);
  const Message& message = stream.messages[0];
  EXPECT_EQ(message.kind, Kind::AllReduce);
  EXPECT_EQ(message.opcode, Opcode::UnboundBuffer);
  EXPECT_EQ(message.tag, 7U);
  EXPECT_EQ(message.payload_bytes, 3'000U);
  EXPECT_EQ(message.first_byte_ns, 1);
  EXPECT_EQ(message.last_byte_ns, 3);
  EXPECT_TRUE(message.is_whole);
}

TEST(GlooFollower, ReadsReadyMessagesAndWhatTheyAnnounce) {
  Stream stream;
  stream.add(Kind::Broadcast, 3, 1'000'000, Opcode::ReceiveReady);
  stream.add(Kind::Broadcast, 3, 500, Opcode::SendReady);
  stream.show(0, 48);
  stream.show(48, 96);
  ASSERT_EQ(stream.messages.size(), 2U);
  EXPECT_EQ(stream.messages[0].opcode, Opcode::ReceiveReady);
  EXPECT_EQ(stream.messages[0].payload_bytes, 0U);
  EXPECT_EQ(stream.messages[0].announced_bytes, 1'000'000U);
  EXPECT_EQ(stream.messages[1].announced_bytes, 500U);
}

TEST(GlooFollower, ReadsAHeaderDeepInAFrameThatWasCapturedWhole) {
  Stream stream;
  stream.add(Kind::AllGather, 1, 700);
  stream.add(Kind::AllGather, 1, 0, Opcode::SendReady);
  stream.add(Kind::Gather, 2, 100);
  stream.show(0, stream.bytes.size(), 10'000);
  ASSERT_EQ(stream.messages.size(), 3U);
  EXPECT_EQ(stream.messages[2].kind, Kind::Gather);
  EXPECT_TRUE(stream.messages[2].is_whole);
}

TEST(GlooFollower, PutsAHeaderTogetherThatIsSplitAnywhere) {
  for (std::uint64_t split = 1; split < kHeaderBytes; ++split) {
    Stream stream;
    stream.add(Kind::Reduce, 1, 100);
    const std::uint64_t second = stream.add(Kind::Scatter, 2, 100);
    stream.show(0, second + split, 10'000);
    stream.show(second + split, second + split + 1);
    stream.show(second + split + 1, stream.bytes.size());
    ASSERT_EQ(stream.messages.size(), 2U) << split;
    EXPECT_EQ(stream.messages[1].kind, Kind::Scatter);
    EXPECT_EQ(stream.messages[1].first_byte_ns, 1);
    EXPECT_EQ(stream.follower.missed_headers(), 0U);
  }
}

TEST(GlooFollower, GoesOnAtTheNextSegmentThatBeginsWithAHeaderAfterOneBehindTheSnapshot) {
  Stream stream;
  stream.add(Kind::AllReduce, 4, 1'000);
  const std::uint64_t hidden = stream.add(Kind::AllReduce, 4, 5'000);
  const std::uint64_t next = stream.add(Kind::Barrier, 5, 0, Opcode::SendReady);
  stream.show(0, hidden + 400);
  stream.show(hidden + 400, next);
  stream.show(next, next + 48);
  ASSERT_EQ(stream.messages.size(), 3U);
  EXPECT_EQ(stream.messages[1].kind, Kind::Unknown);
  EXPECT_EQ(stream.messages[1].payload_bytes, 5'048U) << "with what must be its header";
  EXPECT_EQ(stream.messages[1].first_byte_ns, 1);
  EXPECT_EQ(stream.messages[1].last_byte_ns, 2);
  EXPECT_FALSE(stream.messages[1].is_whole);
  EXPECT_EQ(stream.messages[2].kind, Kind::Barrier);
  EXPECT_EQ(stream.follower.missed_headers(), 1U);
}

// Ready messages lay behind each other in one frame, and what they announced came long after.
TEST(GlooFollower, TellsAFewMissedHeadersApartFromWhatCameAfterAPause) {
  Stream stream;
  for (int slot = 0; slot < 4; ++slot) {
    stream.add(Kind::AllReduce, 7, 1'000, Opcode::ReceiveReady);
  }
  const std::uint64_t buffer = stream.add(Kind::AllReduce, 7, 1'000);
  const std::uint64_t next = stream.add(Kind::AllReduce, 8, 1'000);
  stream.show(0, buffer);
  const std::int64_t ready_ns = stream.now;
  stream.now += 200'000'000;
  stream.show(buffer, next, 20);
  const std::int64_t data_ns = stream.now;
  stream.show(next, next + 1'048);
  ASSERT_EQ(stream.messages.size(), 4U);
  EXPECT_EQ(stream.messages[1].kind, Kind::Unknown);
  EXPECT_EQ(stream.messages[1].payload_bytes, 3 * kHeaderBytes);
  EXPECT_EQ(stream.messages[1].last_byte_ns, ready_ns);
  EXPECT_EQ(stream.messages[2].kind, Kind::Unknown);
  EXPECT_EQ(stream.messages[2].payload_bytes, 1'048U);
  EXPECT_EQ(stream.messages[2].first_byte_ns, data_ns);
}

TEST(GlooFollower, DoesNotMindPiecesMissingInsideAPayload) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 10'000);
  const std::uint64_t second = stream.add(Kind::AllReduce, 2, 10);
  stream.show(0, 1'448);
  stream.show(7'000, second);
  stream.show(second, stream.bytes.size());
  ASSERT_EQ(stream.messages.size(), 2U);
  EXPECT_TRUE(stream.messages[0].is_whole);
  EXPECT_EQ(stream.messages[1].tag, 2U);
}

TEST(GlooFollower, SaysWhereTheEndOfAMessageWasNotSeen) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 3'000);
  const std::uint64_t second = stream.add(Kind::AllReduce, 2, 10);
  stream.show(0, 1'448);
  stream.show(second, stream.bytes.size());
  ASSERT_EQ(stream.messages.size(), 2U);
  EXPECT_FALSE(stream.messages[0].is_whole);
  EXPECT_TRUE(stream.messages[1].is_whole);
}

TEST(GlooFollower, TakesAHeaderThatComesLateToFillAHole) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 100);
  const std::uint64_t lost = stream.add(Kind::AllReduce, 2, 4'000);
  const std::uint64_t third = stream.add(Kind::AllReduce, 3, 10);
  stream.show(0, lost);
  stream.show(lost + 1'448, lost + 2'896);
  stream.show(lost, lost + 1'448);
  stream.show(lost + 2'896, third);
  stream.show(third, stream.bytes.size());
  ASSERT_EQ(stream.messages.size(), 3U);
  EXPECT_EQ(stream.messages[1].tag, 2U);
  EXPECT_EQ(stream.messages[1].payload_bytes, 4'000U);
  EXPECT_EQ(stream.messages[1].last_byte_ns, 4);
}

TEST(GlooFollower, TellsAMessageAtOnceWhenItsLateHeaderIsTheLastOfItToCome) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 100);
  const std::uint64_t lost = stream.add(Kind::AllReduce, 2, 2'000);
  stream.show(0, lost);
  stream.show(lost + 1'448, lost + 2'048);
  stream.show(lost, lost + 1'448);
  ASSERT_EQ(stream.messages.size(), 2U);
  EXPECT_EQ(stream.messages[1].tag, 2U);
  EXPECT_TRUE(stream.follower.is_following());
}

TEST(GlooFollower, IgnoresPiecesThatComeAgain) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 2'000);
  stream.add(Kind::AllReduce, 2, 2'000);
  stream.show(0, 2'048);
  stream.show(0, 1'448);
  stream.show(2'048, 4'096);
  EXPECT_EQ(stream.messages.size(), 2U);
  EXPECT_EQ(stream.follower.missed_headers(), 0U);
}

TEST(GlooFollower, BeginsInTheMiddleOfAStream) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 5'000);
  const std::uint64_t second = stream.add(Kind::AllReduce, 2, 10);
  stream.show(1'448, 2'896);
  stream.show(2'896, second);
  EXPECT_FALSE(stream.follower.is_following());
  stream.show(second, stream.bytes.size());
  ASSERT_EQ(stream.messages.size(), 1U) << "what was under way is not told";
  EXPECT_EQ(stream.messages[0].tag, 2U);
}

TEST(GlooFollower, PassesOverTheNumberOfTheConnectionAlsoWhereItIsInOneSegmentWithAHeader) {
  // A message from one to one has no prefix.
  for (const auto& [prefix, kind] :
       {std::pair(Kind::Barrier, Kind::Barrier), std::pair(Kind::Unknown, Kind::PointToPoint)}) {
    for (const bool is_together : {false, true}) {
      Stream stream;
      stream.bytes = {5, 0, 0, 0, 0, 0, 0, 0};
      stream.add(prefix, 0, 0);
      if (!is_together) {
        stream.show(0, 8);
      }
      stream.show(is_together ? 0 : 8, stream.bytes.size());
      ASSERT_EQ(stream.messages.size(), 1U);
      EXPECT_EQ(stream.messages[0].kind, kind);
      EXPECT_TRUE(looks_like_gloo(0, stream.bytes));
      EXPECT_TRUE(looks_like_gloo(8, std::span(stream.bytes).subspan(8)));
    }
  }
}

TEST(GlooFollower, LeavesOutPiecesThatStandBeforeTheFirstByte) {
  Stream stream;
  stream.add(Kind::AllReduce, 1, 10);
  std::uint64_t messages = 0;
  for (const std::uint64_t before : {std::uint64_t{8}, std::uint64_t{58}, std::uint64_t{500}}) {
    stream.follower.take({.time_ns = 1,
                          .offset = 0 - before,
                          .bytes = static_cast<std::uint32_t>(stream.bytes.size()),
                          .captured = stream.bytes},
                         [&](const Message&) { ++messages; });
  }
  EXPECT_EQ(messages, 0U);
  EXPECT_FALSE(stream.follower.is_following());
}

TEST(GlooFollower, TellsWhatIsOpenWhenTheStreamEnds) {
  Stream stream;
  stream.add(Kind::Gather, 9, 5'000);
  stream.show(0, 1'448);
  stream.follower.finish([&](const Message& message) { stream.messages.push_back(message); });
  ASSERT_EQ(stream.messages.size(), 1U);
  EXPECT_EQ(stream.messages[0].kind, Kind::Gather);
  EXPECT_FALSE(stream.messages[0].is_whole);
}

}  // namespace
}  // namespace chokepoint::capture::gloo
