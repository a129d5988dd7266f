#include "capture/gloo/rank_collectives.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::gloo {
namespace {

using fakes::kMs;
using fakes::kSecond;
using record::CollectiveKind;
using record::Figure;

std::vector<RankedProcess> two_ranks() {
  return {{.process = 1, .rank = 4}, {.process = 2, .rank = 5}};
}

struct Moments {
  std::int64_t start_ms = 0;
  std::int64_t own_ms = 0;
  std::int64_t peer_ms = 0;
  std::int64_t end_ms = 0;
};

CollectivePart part(std::int64_t process, std::int64_t flow, std::int64_t number,
                    const Moments& at) {
  CollectivePart made{.process = process};
  made.row.start_ns = at.start_ms * kMs;
  made.row.end_ns = at.end_ms * kMs;
  made.row.kind = CollectiveKind::AllReduce;
  made.row.number = number;
  made.row.bytes = 100;
  made.row.own_ready_ns = at.own_ms * kMs;
  made.row.peer_ready_ns = at.peer_ms * kMs;
  made.row.first_data_ns = at.peer_ms * kMs + 1;
  made.row.last_data_ns = at.end_ms * kMs;
  made.row.flow = flow;
  return made;
}

class RankCollectivesTest : public testing::Test {
 protected:
  std::vector<record::Collective> rows;
  RankCollectives collectives{[this](const record::Collective& row) { rows.push_back(row); }};
};

// A rank's neighbours on two interfaces; the last of them counts.
TEST_F(RankCollectivesTest, ARanksPartsAreOneCollective) {
  collectives.take(part(2, 7, 30, {.own_ms = 10, .peer_ms = 4, .end_ms = 90}), kSecond);
  collectives.take(part(2, 8, 30, {.start_ms = 10, .own_ms = 11, .peer_ms = 60, .end_ms = 80}),
                   kSecond);
  collectives.settle(two_ranks(), kSecond);
  EXPECT_TRUE(rows.empty());  // another part may come
  collectives.settle(two_ranks(), 2 * kSecond);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].rank, Figure(5));
  EXPECT_EQ(rows[0].communicator, Figure(0));
  EXPECT_EQ(rows[0].bytes, Figure(200));
  EXPECT_EQ(rows[0].own_ready_ns, Figure(10 * kMs));
  EXPECT_EQ(rows[0].peer_ready_ns, Figure(60 * kMs));
  EXPECT_EQ(rows[0].flow, Figure(8));
  EXPECT_EQ(rows[0].waited_ns, Figure(50 * kMs));
  EXPECT_EQ(rows[0].end_ns, 90 * kMs);
}

TEST_F(RankCollectivesTest, WhatHasAllUsualPartsIsOverSoon) {
  collectives.take(part(2, 7, 30, {.end_ms = 5}), 0);
  collectives.settle(two_ranks(), 200 * kMs);
  EXPECT_TRUE(rows.empty()) << "nobody knows how many parts it has";
  collectives.settle(two_ranks(), 250 * kMs);
  ASSERT_EQ(rows.size(), 1U);
  collectives.take(part(2, 7, 31, {.start_ms = 1'000, .end_ms = 1'005}), kSecond);
  collectives.settle(two_ranks(), kSecond + 90 * kMs);
  EXPECT_EQ(rows.size(), 1U);
  collectives.settle(two_ranks(), kSecond + 100 * kMs);
  EXPECT_EQ(rows.size(), 2U);
}

TEST_F(RankCollectivesTest, WhatHasAllUsualPartsIsOverWhenTheNextHasBegun) {
  collectives.take(part(2, 7, 30, {.end_ms = 5}), 0);
  collectives.settle(two_ranks(), 250 * kMs);
  collectives.take(part(2, 7, 31, {.start_ms = 1'000, .end_ms = 1'005}), kSecond);
  collectives.take(part(2, 7, 32, {.start_ms = 1'010, .end_ms = 1'015}), kSecond + 10 * kMs);
  collectives.settle(two_ranks(), kSecond + 10 * kMs);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].number, 31);
}

TEST_F(RankCollectivesTest, RanksOfOneHostHaveOneEach) {
  CollectivePart other = part(1, 9, 30, {.end_ms = 5});
  other.end = 1;
  collectives.take(part(2, 9, 30, {.end_ms = 5}), 0);
  collectives.take(other, 0);
  collectives.settle(two_ranks(), kSecond);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].rank, Figure(5));
  EXPECT_EQ(rows[1].rank, Figure(4));
}

// Collectives of two groups with the same number, one after the other.
TEST_F(RankCollectivesTest, GroupsAreToldApartByWhatHappensTogether) {
  collectives.take(part(1, 7, 30, {.end_ms = 20}), 0);
  collectives.take(part(1, 8, 30, {.start_ms = 40, .own_ms = 40, .end_ms = 60}), 0);
  collectives.settle(two_ranks(), kSecond);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].communicator, Figure(0));
  EXPECT_EQ(rows[1].communicator, Figure(1));
  // From then on, though they overlap.
  collectives.take(part(1, 7, 31, {.start_ms = 100, .own_ms = 100, .end_ms = 120}), kSecond);
  collectives.take(part(1, 8, 31, {.start_ms = 100, .own_ms = 110, .end_ms = 120}), kSecond);
  collectives.settle(two_ranks(), 2 * kSecond);
  EXPECT_EQ(rows.size(), 4U);
}

// A pipeline's ranks share gradients in one group, and their loss in another as soon as they have.
TEST_F(RankCollectivesTest, GroupsOfWhichOneBeginsWhenTheOtherIsOverAreTwo) {
  for (std::int64_t step = 0; step < 5; ++step) {
    const std::int64_t at_ms = 100 * step;
    collectives.take(part(1, 7, step, {.start_ms = at_ms, .own_ms = at_ms, .end_ms = at_ms + 20}),
                     at_ms * kMs);
    collectives.take(
        part(1, 8, step, {.start_ms = at_ms + 21, .own_ms = at_ms + 21, .end_ms = at_ms + 25}),
        at_ms * kMs);
  }
  collectives.settle(two_ranks(), 5 * kSecond);
  ASSERT_EQ(rows.size(), 10U);
  EXPECT_NE(rows[0].communicator, rows[1].communicator);
}

// One group's connections that were not seen together at first.
TEST_F(RankCollectivesTest, GroupsThatAlwaysBeginTogetherAreOne) {
  collectives.take(part(1, 7, 30, {.end_ms = 20}), 0);
  collectives.take(part(1, 8, 31, {.start_ms = 40, .end_ms = 60}), 0);
  for (std::int64_t number = 32; number < 36; ++number) {
    const Moments moments{.start_ms = number, .own_ms = number, .end_ms = number + 10};
    collectives.take(part(1, 7, number, moments), 0);
    collectives.take(part(1, 8, number, moments), 0);
  }
  collectives.settle(two_ranks(), kSecond);
  // Twice two, then one each.
  EXPECT_EQ(rows.size(), 2U + 4U + 2U);
  EXPECT_EQ(rows.back().bytes, Figure(200));
  EXPECT_EQ(rows.back().communicator, Figure(0));
}

// A tap reports a part when it was quiet for a second; with a late neighbour that is too early.
// One tap tells a second later than the other, each time: by then the row has been emitted.
TEST_F(RankCollectivesTest, GroupsAreOneAlsoWhereOnePartAlwaysComesTooLate) {
  std::int64_t now = 0;
  for (int step = 0; step < 6; ++step) {
    const std::int64_t ms = 2'000 * step;
    const auto part_of = [&](std::int64_t flow) {
      return part(2, flow, step,
                  {.start_ms = ms, .own_ms = ms + 1, .peer_ms = ms, .end_ms = ms + 9});
    };
    collectives.take(part_of(7), now);
    collectives.settle(two_ranks(), now + 600 * kMs);
    collectives.take(part_of(8), now + kSecond);
    collectives.settle(two_ranks(), now + 1'600 * kMs);
    now += 2 * kSecond;
  }
  // At first apart, as two groups.
  std::vector<std::int64_t> together;
  for (const record::Collective& row : rows) {
    if (row.bytes == Figure(200)) {
      EXPECT_EQ(row.communicator, Figure(0));
      together.push_back(row.number);
    }
  }
  EXPECT_THAT(together, testing::ElementsAre(4, 5));
}

// Their barrier came together, so they are known to be one group; the all-reduces' parts do not.
TEST_F(RankCollectivesTest, APartThatCameTooLateIsWaitedForTheNextTime) {
  for (const std::int64_t flow : {7, 8}) {
    CollectivePart barrier = part(2, flow, 0, {.own_ms = 1, .peer_ms = 1, .end_ms = 2});
    barrier.row.kind = CollectiveKind::Barrier;
    collectives.take(barrier, 0);
  }
  for (std::int64_t step = 1; step < 4; ++step) {
    const std::int64_t now = 2 * step * kSecond;
    for (const std::int64_t flow : {7, 8}) {
      const std::int64_t ms = 2'000 * step;
      collectives.take(
          part(2, flow, step, {.start_ms = ms, .own_ms = ms + 1, .peer_ms = ms, .end_ms = ms + 9}),
          now + (flow == 7 ? 0 : kSecond));
      collectives.settle(two_ranks(), now + (flow == 7 ? 600 : 1'600) * kMs);
    }
  }
  EXPECT_EQ(rows.back().number, 3);
  EXPECT_EQ(rows.back().bytes, Figure(200));
}

TEST_F(RankCollectivesTest, AnUsualPartIsWaitedFor) {
  for (const std::int64_t flow : {7, 8}) {
    collectives.take(part(1, flow, 30, {.end_ms = 20}), 0);
  }
  collectives.settle(two_ranks(), kSecond);
  ASSERT_EQ(rows.size(), 1U);
  collectives.take(part(1, 7, 31, {.start_ms = 100, .own_ms = 100, .peer_ms = 100, .end_ms = 120}),
                   kSecond);
  collectives.settle(two_ranks(), 4 * kSecond);
  EXPECT_EQ(rows.size(), 1U);
  collectives.take(
      part(1, 8, 31, {.start_ms = 100, .own_ms = 100, .peer_ms = 4'000, .end_ms = 4'020}),
      5 * kSecond);
  // The early neighbour's connection goes on, too.
  collectives.take(
      part(1, 7, 31, {.start_ms = 4'000, .own_ms = 4'000, .peer_ms = 4'000, .end_ms = 4'020}),
      5 * kSecond);
  collectives.settle(two_ranks(), 6 * kSecond);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].own_ready_ns, Figure(100 * kMs));
  EXPECT_EQ(rows[1].peer_ready_ns, Figure(4'000 * kMs));
  EXPECT_EQ(rows[1].bytes, Figure(300));
}

TEST_F(RankCollectivesTest, WhatIsMissingIsNotWaitedForForever) {
  for (const std::int64_t flow : {7, 8}) {
    collectives.take(part(1, flow, 30, {.end_ms = 20}), 0);
  }
  collectives.take(part(1, 7, 31, {.start_ms = 100, .end_ms = 120}), 0);
  collectives.settle(two_ranks(), kSecond);
  EXPECT_EQ(rows.size(), 1U);
  collectives.settle(two_ranks(), 31 * kSecond);
  EXPECT_EQ(rows.size(), 2U);
}

TEST_F(RankCollectivesTest, MessagesAreNotJoined) {
  for (const std::int64_t flow : {7, 8}) {
    CollectivePart message = part(1, flow, 30, {.end_ms = 20});
    message.row.kind = CollectiveKind::Send;
    collectives.take(message, 0);
  }
  collectives.settle(two_ranks(), 0);
  EXPECT_EQ(rows.size(), 2U);
}

// Sockets were not seen, or not in time.
TEST_F(RankCollectivesTest, AnUnknownOwnerIsTheOnlyRankThereIs) {
  collectives.take(part(0, 7, 30, {.end_ms = 20}), 0);
  collectives.settle({two_ranks()[0]}, kSecond);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].rank, Figure(4));
  collectives.take(part(0, 7, 31, {.end_ms = 20}), kSecond);
  collectives.settle(two_ranks(), 2 * kSecond);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_FALSE(rows[1].rank.known());
}

TEST_F(RankCollectivesTest, ARankThatHasEndedIsStillKnown) {
  collectives.settle(two_ranks(), 0);
  collectives.take(part(2, 7, 30, {.end_ms = 20}), 0);
  collectives.finish();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].rank, Figure(5));
}

TEST_F(RankCollectivesTest, MemoryIsBounded) {
  for (std::int64_t number = 0; number < 3'000; ++number) {
    collectives.take(part(1, 7, number, {.end_ms = 20}), 0);
  }
  EXPECT_EQ(rows.size(), 3'000 - RankCollectives::kMaxOpen);
  EXPECT_EQ(rows[0].number, 0);
}

// Which neighbour came last is not known if one was not seen to come.
TEST(Joined, AnUnseenNeighbourMakesTheLastOneUnknown) {
  CollectivePart seen = part(1, 7, 30, {.peer_ms = 50, .end_ms = 90});
  CollectivePart unseen = part(1, 8, 30, {.peer_ms = 60, .end_ms = 90});
  unseen.row.peer_ready_ns = {};
  EXPECT_FALSE(joined({seen, unseen}).peer_ready_ns.known());
  EXPECT_FALSE(joined({seen, unseen}).flow.known());
  unseen.row.first_data_ns = 40 * kMs;  // it had come before
  EXPECT_EQ(joined({seen, unseen}).peer_ready_ns, Figure(50 * kMs));
  EXPECT_EQ(joined({seen, unseen}).flow, Figure(7));
}

TEST(Joined, AHostOfSeveralRanksHasComeToARingOnceTheLastHas) {
  std::vector<CollectivePart> parts{part(1, 7, 1, {.own_ms = 5, .peer_ms = 6, .end_ms = 20}),
                                    part(1, 8, 1, {.own_ms = 15, .peer_ms = 6, .end_ms = 20})};
  EXPECT_EQ(joined(parts).own_ready_ns, Figure(5 * kMs));
  EXPECT_EQ(joined(parts, Coming::Last).own_ready_ns, Figure(15 * kMs));
  for (CollectivePart& each : parts) {
    each.row.kind = CollectiveKind::Broadcast;
  }
  EXPECT_EQ(joined(parts, Coming::Last).own_ready_ns, Figure(5 * kMs));
}

}  // namespace
}  // namespace chokepoint::capture::gloo
