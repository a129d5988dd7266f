#include "analysis/phases/lateness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

constexpr double kSmall = 1000;  // bytes that are waited for, where nothing tells
constexpr double kLarge = 40e6;  // and that are not

std::vector<Late> late_of(const Exchanges& exchanges) {
  return late_arrivals(exchanges, meetings_of(exchanges), steps_ms(30, 200));
}

// Milliseconds lost by each node.
std::map<std::size_t, double> lost_waiting_ms(const Exchanges& exchanges) {
  std::map<std::size_t, double> lost;
  for (const Late& late : late_of(exchanges)) {
    lost[late.node] += late.lost_ns / 1e6;
  }
  return lost;
}

// At 0 all ranks leave a collective together: who has left none yet cannot be told to be slow.
Exchanges begun(std::size_t ranks) {
  Exchanges exchanges(ranks);
  for (std::size_t node = 0; node < ranks; ++node) {
    exchanges[node].push_back(all_reduce(node, -1, 0, 0, kSmall));
  }
  return exchanges;
}

// Ranks that come to the same all-reduces, each as much later than `at` as its place in `late`
// tells, and that all end together.
void meet(Exchanges& exchanges, std::int64_t number, double at, const std::vector<double>& late,
          double exchanging = 20, double bytes = kSmall) {
  exchanges = exchanges.empty() ? begun(late.size()) : std::move(exchanges);
  const double all = at + *std::ranges::max_element(late);
  for (std::size_t node = 0; node < late.size(); ++node) {
    exchanges[node].push_back(
        all_reduce(node, number, at + late[node], all + exchanging, bytes, all));
  }
}

TEST(LateArrivals, AreNoneOfNobodyOrOfOneAlone) {
  EXPECT_TRUE(late_of({}).empty());
  EXPECT_TRUE(late_of({{}, {}}).empty());
  EXPECT_TRUE(late_of({{all_reduce(0, 0, 10, 50)}, {}}).empty());
}

//   rank 0   ── 100 ──┤ ···· waits 30 ····├─ exchange ─
//   rank 1   ── 130 ──────────────────────┤─ exchange ─
TEST(LateArrivals, NameTheOneThatTheOthersWaitFor) {
  Exchanges exchanges;
  for (int step = 0; step < 10; ++step) {
    meet(exchanges, step, step * 200 + 100, {0, 30});
  }
  const auto lost = lost_waiting_ms(exchanges);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost.at(1), 10 * 30, 0.01);
  const auto late = late_of(exchanges);
  EXPECT_EQ(late.front().waited.start_ns, ms_ns(100));
  EXPECT_EQ(late.front().waited.end_ns, ms_ns(130));
}

// Ranks 0 to 6 all show the same duration and rank 7 the shortest of all: it is the late one, not
// the quick one.
TEST(LateArrivals, NameOneLateRankOfEightWhosePeersAllTakeTheSame) {
  Exchanges exchanges;
  for (int step = 0; step < 10; ++step) {
    meet(exchanges, step, step * 200 + 50, {0, 0, 0, 0, 0, 0, 0, 80});
  }
  const auto lost = lost_waiting_ms(exchanges);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost.at(7), 10 * 80, 0.01);
}

//   rank 0   ──┤ ················├──
//   rank 1   ────────┤ ··········├──   only what lies after rank 1 is lost by rank 2
//   rank 2   ────────────────────┤──
TEST(LateArrivals, LoseOnlyWhatComesAfterTheNextToLast) {
  Exchanges exchanges;
  meet(exchanges, 0, 100, {0, 25, 60});
  const auto lost = lost_waiting_ms(exchanges);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost.at(2), 35, 0.01);
}

// Who does not wait loses nothing. After the large one there is another, that nobody waits for
// either, and a step has no more of them.
TEST(LateArrivals, AreNoneToWhatNobodyWaitsFor) {
  Exchanges exchanges;
  for (int step = 0; step < 4; ++step) {
    meet(exchanges, step * 2, step * 200 + 20, {0, 30}, 20, kLarge);
    meet(exchanges, step * 2 + 1, step * 200 + 120, {0, 0}, 20, kLarge);
  }
  EXPECT_TRUE(late_of(exchanges).empty());
}

// Half of a round trip passes until anybody can know that the last one came.
TEST(LateArrivals, AreNotThoseThatComeWithinTheWayBetweenThem) {
  Exchanges exchanges;
  meet(exchanges, 0, 100, {0, 30});
  for (auto& of_node : exchanges) {
    of_node.back().one_way_ns = ms_ns(40);
  }
  EXPECT_TRUE(late_of(exchanges).empty());
}

// Rank 1 was kept in the last collective for 40 ms longer, and computes no longer than rank 0.
//
//   rank 0   ─ all-gather ─┤── 60 ──┤ ·· waits 40 ·├─ exchange ─
//   rank 1   ─ all-gather ──── 40 ──┤────── 60 ────├─ exchange ─
TEST(LateArrivals, AreNotThoseThatOnlyLeftTheLastOneLater) {
  Exchanges exchanges;
  for (int step = 0; step < 10; ++step) {
    const double at = step * 200 + 20;
    meet(exchanges, step * 2, at, {0, 0});
    exchanges[1].back().end_ns += ms_ns(40);
    meet(exchanges, step * 2 + 1, at + 20 + 60, {0, 40});
  }
  EXPECT_TRUE(late_of(exchanges).empty());
}

TEST(LateArrivals, MayBeAnotherRankEachTime) {
  Exchanges exchanges;
  for (int step = 0; step < 10; ++step) {
    meet(exchanges, step, step * 200 + 100,
         step % 2 == 0 ? std::vector<double>{10, 0} : std::vector<double>{0, 40});
  }
  const auto lost = lost_waiting_ms(exchanges);
  EXPECT_NEAR(lost.at(0), 5 * 10, 0.01);
  EXPECT_NEAR(lost.at(1), 5 * 40, 0.01);
}

// Of three buckets of a step the first comes late, the others queue behind it at both ranks.
TEST(LateArrivals, CountALateBucketOnce) {
  Exchanges exchanges;
  for (int step = 0; step < 10; ++step) {
    const double at = step * 300 + 100;
    meet(exchanges, step * 3, at, {0, 30});
    meet(exchanges, step * 3 + 1, at + 50, {0, 0});
    meet(exchanges, step * 3 + 2, at + 70, {0, 0});
  }
  const auto lost = lost_waiting_ms(exchanges);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost.at(1), 10 * 30, 0.01);
}

// Rank 1 computes between its buckets as fast as its network asks it to; rank 0, whose network is
// quicker, queues. What rank 1 takes for its bucket's share of backward is no lateness.
//
//   rank 0   ── 100 ──┤ 1 │ 2 ········│       four equal buckets: a bucket's share of backward is
//   rank 1   ── 100 ──┤ 1 │── 30 ──┤ 2│       100 / 0.75 × 0.25 = 33 ms
TEST(LateArrivals, AreNotThoseThatComputeAtTheModelsPace) {
  Exchanges exchanges = begun(2);
  for (int step = 0; step < 10; ++step) {
    const double at = step * 300 + 100;
    for (int bucket = 0; bucket < 4; ++bucket) {
      const double begin = at + bucket * 50;
      const double late = bucket == 0 ? 0 : 30;
      exchanges[0].push_back(
          all_reduce(0, step * 4 + bucket, begin, begin + 50, kSmall, begin + late));
      exchanges[1].push_back(all_reduce(1, step * 4 + bucket, begin + late, begin + 50, kSmall));
    }
  }
  EXPECT_TRUE(late_of(exchanges).empty());
}

TEST(LateArrivals, OfAQueuedBucketAreLateByMoreThanTheModelsPace) {
  Exchanges exchanges = begun(2);
  for (int step = 0; step < 10; ++step) {
    const double at = step * 800 + 200;
    for (int bucket = 0; bucket < 4; ++bucket) {
      const double begin = at + bucket * 150;
      const double late = bucket == 2 ? 133 : 0;
      exchanges[0].push_back(
          all_reduce(0, step * 4 + bucket, begin, begin + 150, kSmall, begin + late));
      exchanges[1].push_back(all_reduce(1, step * 4 + bucket, begin + late, begin + 150, kSmall));
    }
  }
  const double gap_ms = 800 - 600;  // between steps
  const double pace_ms = gap_ms / 0.75 * 0.25;
  const auto lost = lost_waiting_ms(exchanges);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_NEAR(lost.at(1), 10 * (133 - pace_ms), 5);
}

TEST(LateArrivals, AreNeverNegativeNorLongerThanTheWait) {
  Exchanges exchanges(3);
  for (std::size_t node = 0; node < 3; ++node) {
    for (int place = 0; place < 300; ++place) {
      const auto scattered =
          static_cast<double>((place * 7919 + static_cast<int>(node) * 131) % 997);
      exchanges[node].push_back(all_reduce(node, place, place * 5 + scattered / 10,
                                           place * 5 + scattered / 7 - 20, scattered));
    }
    std::ranges::sort(exchanges[node], {}, &Exchange::own_ready_ns);
  }
  for (const Late& late : late_of(exchanges)) {
    EXPECT_GE(late.lost_ns, 0);
    EXPECT_LE(late.lost_ns, static_cast<double>(late.waited.length_ns()));
  }
}

Exchange of_rank(Exchange exchange, std::int64_t rank, std::int64_t group = 0) {
  exchange.rank = rank;
  exchange.group = group;
  return exchange;
}

//   rank 0   ─ 10 ─┤ ························· waits 100 ·······················├ reduces with 1
//   rank 1   ─ 100 ───────────────────────────────────────────┤ receives, 10 ──┤
//   rank 3   ─ 10 ─┤ sends to 1 ·······························├─┤ reduces with 2
//   rank 2   ─ 10 ─┤ ·····························waits 92 ····├─┤
TEST(LateArrivals, AreNotThoseWhomALateRankKeptInAMessage) {
  Exchanges exchanges;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    exchanges.push_back({of_rank(all_reduce(rank < 2 ? 0 : 1, -1, 0, 0, kSmall), rank, rank / 2)});
  }
  for (int step = 0; step < 10; ++step) {
    const double base = step * 200;
    const auto reduces = [&](std::size_t rank, double ready, double end) {
      exchanges[rank].push_back(
          of_rank(all_reduce(rank / 2, step, base + ready, base + end, kSmall),
                  static_cast<std::int64_t>(rank), static_cast<std::int64_t>(rank / 2)));
    };
    exchanges[3].push_back(
        of_rank(sent({.node = 1, .number = step, .ready = base + 10, .end = base + 101}), 3));
    exchanges[1].push_back(
        of_rank(received({.node = 0, .number = step, .ready = base + 100, .end = base + 101}), 1));
    reduces(0, 10, 112);
    reduces(1, 111, 112);
    reduces(2, 10, 103);
    reduces(3, 102, 103);
  }
  std::map<std::int64_t, double> lost;
  for (const Late& late : late_of(exchanges)) {
    lost[late.rank] += late.lost_ns / 1e6;
  }
  EXPECT_NEAR(lost[1], 10 * 100, 5);
  EXPECT_LT(lost[3], 10 * 2);
}

}  // namespace
}  // namespace chokepoint::analysis
