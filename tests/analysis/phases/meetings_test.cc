// Which collectives of several nodes are one: meetings.cc.
#include "analysis/phases/meetings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

// "0.0 1.0": the parts of each meeting, in the order of nodes.
std::vector<std::string> texts_of(const Exchanges& exchanges) {
  std::vector<std::string> texts;
  for (Meeting meeting : meetings_of(exchanges)) {
    std::ranges::sort(meeting, {}, &Part::list);
    std::string text;
    for (const Part part : meeting) {
      text +=
          (text.empty() ? "" : " ") + std::to_string(part.list) + "." + std::to_string(part.place);
    }
    texts.push_back(text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(MeetingsOf, PairTheSameNumberOverNodes) {
  EXPECT_EQ(texts_of({{all_reduce(0, 0, 0, 10), all_reduce(0, 1, 20, 30)},
                      {all_reduce(1, 0, 5, 10), all_reduce(1, 1, 20, 31)},
                      {all_reduce(2, 0, 2, 11), all_reduce(2, 1, 25, 29)}}),
            (Texts{"0.0 1.0 2.0", "0.1 1.1 2.1"}));
}

TEST(MeetingsOf, KeepKindsAndGroupsApart) {
  Exchange gather = all_reduce(1, 0, 0, 10);
  gather.kind = record::CollectiveKind::AllGather;
  Exchange other_group = all_reduce(2, 0, 0, 10);
  other_group.group = 7;
  EXPECT_EQ(texts_of({{all_reduce(0, 0, 0, 10)}, {gather}, {other_group}}),
            (Texts{"0.0", "1.0", "2.0"}));
}

// Two groups whose connections are not known: 0 and 2 had left before 1 knew that 3 had come.
TEST(MeetingsOf, KeepCollectivesApartOfWhichOneWasOverBeforeTheOtherCouldBegin) {
  Exchange waited = all_reduce(1, 0, 0, 320);
  waited.all_ready_ns = ms_ns(300);
  EXPECT_EQ(texts_of({{all_reduce(0, 0, 0, 10)},
                      {waited},
                      {all_reduce(2, 0, 0, 12)},
                      {all_reduce(3, 0, 300, 320)}}),
            (Texts{"0.0 2.0", "1.0 3.0"}));
}

TEST(MeetingsOf, LackANodeWhoseRecordDoes) {
  EXPECT_EQ(
      texts_of(
          {{all_reduce(0, 0, 0, 10), all_reduce(0, 1, 20, 30)}, {}, {all_reduce(2, 1, 25, 30)}}),
      (Texts{"0.0", "0.1 2.0"}));
}

// A process group made anew counts from 0 again.
TEST(MeetingsOf, PairANumberThatComesAgainWithThoseOfItsTime) {
  EXPECT_EQ(texts_of({{all_reduce(0, 0, 0, 10), all_reduce(0, 0, 60'000, 60'010)},
                      {all_reduce(1, 0, 60'000, 60'010)}}),
            (Texts{"0.0", "0.1 1.0"}));
}

//   rank 0   send 1 ──→   send 1 ──→   send 1 ──→
//   rank 1        recv 1       recv 1       recv 1
TEST(MeetingsOf, PairMessagesOfANumberThatComesAgainAndAgain) {
  Exchanges exchanges(2);
  Texts expected;
  for (int step = 0; step < 30; ++step) {
    const double at = step * 100;
    exchanges[0].push_back(sent({.node = 0, .number = 1, .ready = at, .end = at + 10}));
    exchanges[1].push_back(received({.node = 1, .number = 1, .ready = at - 5, .end = at + 11}));
    expected.push_back(std::to_string(0) + "." + std::to_string(step) + " 1." +
                       std::to_string(step));
  }
  EXPECT_EQ(texts_of(exchanges), expected);
}

// Those before and after one that a record lacks still find theirs.
TEST(MeetingsOf, PairMessagesAfterOneIsMissing) {
  Exchanges exchanges(2);
  for (int step = 0; step < 20; ++step) {
    const double at = step * 100;
    exchanges[0].push_back(sent({.node = 0, .number = 1, .ready = at, .end = at + 10}));
    if (step != 5) {
      exchanges[1].push_back(received({.node = 1, .number = 1, .ready = at - 5, .end = at + 11}));
    }
  }
  const Texts texts = texts_of(exchanges);
  EXPECT_EQ(texts.at(4), "0.4 1.4");
  EXPECT_EQ(texts.at(5), "0.5");
  EXPECT_EQ(texts.at(6), "0.6 1.5");
  EXPECT_EQ(texts.back(), "0.19 1.18");
}

// Micro-batches of one number: the sender's socket takes them all before the first has passed.
TEST(MeetingsOf, PairMessagesOfOneNumberInTheirOrder) {
  Exchanges exchanges(2);
  for (const double place : {0.0, 1.0, 2.0}) {
    exchanges[0].push_back(sent({.node = 0, .number = 0, .ready = place, .end = 20 + place}));
    exchanges[1].push_back(
        received({.node = 1, .number = 0, .ready = place, .end = 30 + 10 * place}));
  }
  EXPECT_EQ(texts_of(exchanges), (Texts{"0.0 1.0", "0.1 1.1", "0.2 1.2"}));
}

// The record begins with the receiver's: nothing that is sent later is what it had then.
TEST(MeetingsOf, PairNoMessageWithOneThatWasSentAfterIt) {
  Exchanges exchanges(2);
  for (int step = 0; step < 10; ++step) {
    const double at = step * 100;
    if (step >= 3) {
      exchanges[0].push_back(sent({.node = 0, .number = 0, .ready = at, .end = at + 10}));
    }
    exchanges[1].push_back(received({.node = 1, .number = 0, .ready = at - 5, .end = at + 11}));
  }
  const Texts texts = texts_of(exchanges);
  ASSERT_EQ(texts.size(), 10U);
  EXPECT_EQ(texts.at(2), "1.2");
  EXPECT_EQ(texts.at(3), "0.0 1.3");
  EXPECT_EQ(texts.back(), "0.6 1.9");
}

TEST(MeetingsOf, PairMessagesByConnectionAndBothWays) {
  EXPECT_EQ(texts_of({{sent({.node = 0, .connection = 3, .end = 10}),
                       received({.node = 0, .connection = 3, .ready = 20, .end = 31})},
                      {received({.node = 1, .connection = 3, .end = 11}),
                       sent({.node = 1, .connection = 3, .ready = 20, .end = 30})},
                      {received({.node = 2, .connection = 4, .end = 12})}}),
            (Texts{"0.0 1.0", "2.0", "0.1 1.1"}));
}

TEST(MeetingsOf, PairNeitherTwoSendersNorMessagesOfUnknownConnections) {
  EXPECT_EQ(texts_of({{sent({.node = 0, .end = 10})}, {sent({.node = 1, .end = 11})}}),
            (Texts{"0.0", "1.0"}));
  EXPECT_EQ(texts_of({{sent({.node = 0, .connection = -1, .end = 10})},
                      {received({.node = 1, .connection = -1, .end = 11})}}),
            (Texts{"0.0", "1.0"}));
}

TEST(MeetingsOf, AreEachPartOnce) {
  Exchanges exchanges(3);
  for (std::size_t node = 0; node < 3; ++node) {
    for (int place = 0; place < 200; ++place) {
      exchanges[node].push_back(all_reduce(node, place % 7, place * 3, place * 5 % 400));
    }
  }
  std::size_t parts = 0;
  for (const Meeting& meeting : meetings_of(exchanges)) {
    parts += meeting.size();
  }
  EXPECT_EQ(parts, 600U);
}

}  // namespace
}  // namespace chokepoint::analysis
