// The lines on which collectives follow each other, which overlap.cc makes its times of.
// use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/phases/overlap.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

TEST(LineOf, IsEmptyOfNothing) { EXPECT_TRUE(lines_of({}).empty()); }

TEST(LineOf, TellsTheGapsBetweenCollectives) {
  const std::vector exchanges{all_reduce(0, 0, 10, 20), all_reduce(0, 1, 50, 60),
                              all_reduce(0, 2, 65, 70)};
  const Line line = lines_of(exchanges).front();
  ASSERT_EQ(line.gaps.size(), 3U);
  EXPECT_EQ(line.gaps[0].gap_ns, 0);
  EXPECT_EQ(line.gaps[1].gap_ns, ms_ns(30));
  EXPECT_EQ(line.gaps[2].gap_ns, ms_ns(5));
  EXPECT_EQ(line.bursts.size(), 3U);
  for (const StageGap& gap : line.gaps) {
    EXPECT_FALSE(gap.queued);
  }
}

TEST(LineOf, LeavesMessagesOut) {
  const std::vector exchanges{all_reduce(0, 0, 10, 20), sent({.ready = 25, .end = 35}),
                              received({.ready = 36, .end = 45}), all_reduce(0, 1, 50, 60)};
  const Line line = lines_of(exchanges).front();
  ASSERT_EQ(line.gaps.size(), 2U);
  EXPECT_EQ(line.gaps[1].gap_ns, ms_ns(30));
}

//   ── 30 ──┤ 1 │ 2 │ 3 ├── 30 ──┤ 1 │ 2 │ 3 │
TEST(LineOf, MakesABurstOfThoseThatQueue) {
  std::vector<Exchange> exchanges;
  for (int step = 0; step < 2; ++step) {
    for (int bucket = 0; bucket < 3; ++bucket) {
      const double ready = step * 60 + 30 + bucket * 10;
      exchanges.push_back(all_reduce(0, step * 3 + bucket, ready, ready + 10));
    }
  }
  const Line line = lines_of(exchanges).front();
  ASSERT_EQ(line.bursts.size(), 2U);
  EXPECT_EQ(line.bursts[1].first, 3U);
  EXPECT_EQ(line.bursts[1].count, 3U);
  EXPECT_FALSE(line.gaps[3].queued);
  EXPECT_TRUE(line.gaps[4].queued);
  EXPECT_TRUE(line.gaps[5].queued);
}

// One that began before the last was over has no gap, and the longest of them is waited for.
TEST(LineOf, CountsGapsFromTheLastThatIsOver) {
  const std::vector exchanges{all_reduce(0, 0, 0, 100), all_reduce(0, 1, 10, 30),
                              all_reduce(0, 2, 120, 130)};
  const Line line = lines_of(exchanges).front();
  EXPECT_EQ(line.gaps[1].gap_ns, 0);
  EXPECT_TRUE(line.gaps[1].queued);
  EXPECT_EQ(line.gaps[2].gap_ns, ms_ns(20));
}

// ── 100 ──┤ 1 │ 2 │ 3 │ 4 ├: of four equal buckets the first was ready after forward and a fourth
// of backward; three fourths of backward went on meanwhile, as far as there was time.
Line four_buckets(double each_ms, double first_bytes = 1e6) {
  static std::vector<Exchange> exchanges;
  exchanges = {all_reduce(0, 0, 0, 1)};
  for (int bucket = 0; bucket < 4; ++bucket) {
    const double ready = 101 + bucket * each_ms;
    exchanges.push_back(
        all_reduce(0, bucket + 1, ready, ready + each_ms, bucket == 0 ? first_bytes : 1e6));
  }
  return lines_of(exchanges).front();
}

TEST(LineOf, HidesTheRestOfBackwardBehindABurst) {
  const Line line = four_buckets(200);
  ASSERT_EQ(line.bursts.size(), 2U);
  EXPECT_NEAR(line.bursts[1].hidden_ns / 1e6, 100 / 0.75 * 0.75, 1);
  EXPECT_NEAR(line.gaps[2].pace_ns / 1e6, 100 / 0.75 * 0.25, 1);
}

TEST(LineOf, HidesNoMoreThanThereWasToHideBehind) {
  const Line line = four_buckets(10);
  EXPECT_NEAR(line.bursts[1].hidden_ns / 1e6, 30, 0.1);  // the last bucket is waited for
}

TEST(LineOf, HidesLessBehindABurstWhoseFirstIsLarge) {
  EXPECT_LT(four_buckets(200, 10e6).bursts[1].hidden_ns, four_buckets(200).bursts[1].hidden_ns / 2);
}

TEST(LineOf, HidesNothingWhereNothingQueuesOrBytesAreUnknown) {
  const std::vector alone{all_reduce(0, 0, 0, 1), all_reduce(0, 1, 100, 200)};
  const Line line = lines_of(alone).front();
  for (const Burst& burst : line.bursts) {
    EXPECT_EQ(burst.hidden_ns, 0);
  }
  const std::vector unknown{all_reduce(0, 0, 0, 1, 0), all_reduce(0, 1, 100, 200, 0),
                            all_reduce(0, 2, 200, 300, 0)};
  const Line line_of_unknown = lines_of(unknown).front();
  for (const Burst& burst : line_of_unknown.bursts) {
    EXPECT_EQ(burst.hidden_ns, 0);
  }
}

}  // namespace
}  // namespace chokepoint::analysis
