// The small parts that flows are made of: ranges and holes of loss.h, the log of sent_log.h,
// spreads. flow.h.
#include <gtest/gtest.h>

#include <random>

#include "capture/flow/flow.h"
#include "capture/flow/loss.h"
#include "capture/flow/sent_log.h"
#include "capture/flow/series.h"

namespace chokepoint::capture::flow {
namespace {

TEST(Ranges, AreTheSetOfWhatWasAdded) {
  std::mt19937 random(7);
  Ranges ranges;
  std::vector<bool> truth(400);
  for (int i = 0; i < 60; ++i) {
    const Position begin = random() % 380;
    const Position end = begin + 1 + random() % 15;
    ranges.add({begin, end});
    std::fill(truth.begin() + begin, truth.begin() + end, true);
    ASSERT_EQ(ranges.bytes(), std::count(truth.begin(), truth.end(), true));
  }
  ranges.remove_below(200);
  EXPECT_EQ(ranges.bytes(), std::count(truth.begin() + 200, truth.end(), true));
  for (std::size_t i = 0; i + 1 < ranges.count(); ++i) {
    EXPECT_LT(ranges[i].end, ranges[i + 1].begin);
  }
}

TEST(Ranges, JoinTheNearestWhereThereAreTooMany) {
  Ranges ranges;
  for (Position i = 0; i < 100; ++i) {
    ranges.add({i * 100, i * 100 + 50});
  }
  EXPECT_EQ(ranges.count(), Ranges::kMaxRanges);
  EXPECT_EQ(ranges.highest(), 9'950);
}

TEST(Holes, AreFilledInParts) {
  Holes holes;
  holes.open({.range = {100, 200}});
  holes.open({.range = {300, 400}});
  EXPECT_EQ(holes.fill({140, 160}), 20);
  EXPECT_EQ(holes.find({145, 150}), nullptr);
  ASSERT_NE(holes.find({100, 101}), nullptr);
  ASSERT_NE(holes.find({160, 161}), nullptr);
  EXPECT_EQ(holes.fill({0, 350}), 130);
  EXPECT_EQ(holes.give_up_below(1'000), 50);
  EXPECT_TRUE(holes.empty());
}

TEST(Spread, IsExactInSmallAndCloseInLarge) {
  Budget budget;
  Spread spread(budget);
  for (std::uint64_t value = 1; value <= 1'000; ++value) {
    spread.add(value * 1'000);
  }
  const math::Distribution told = spread.distribution(1);
  EXPECT_EQ(told.min, 1'000);
  EXPECT_EQ(told.max, 1'000'000);
  EXPECT_NEAR(told.median, 500'000, 500'000 * 0.016);
  EXPECT_NEAR(told.p99, 990'000, 990'000 * 0.016);
  EXPECT_NEAR(told.mean, 500'500, 1);

  Spread small(budget);
  for (const std::uint64_t value : {0, 1, 2, 3, 4}) {
    small.add(value);
  }
  EXPECT_EQ(small.quantile(0.5), 2);
}

TEST(Spread, GivesItsShareOfTheBudgetBack) {
  Budget budget;
  {
    Spread spread(budget);
    spread.add(5);
    spread.add(~std::uint64_t{0} >> 1);
    EXPECT_GT(budget.used, 0U);
  }
  EXPECT_EQ(budget.used, 0U);
}

TEST(SentLog, FindsTheSegmentOfAByteAndSomeThatAreForgotten) {
  Budget budget;
  SentLog log(budget);
  for (Position i = 0; i < 100; ++i) {
    log.add({.end = (i + 1) * 10, .time_ns = i, .length = 10}, true);
  }
  ASSERT_NE(log.find(555), nullptr);
  EXPECT_EQ(log.find(555)->time_ns, 55);
  EXPECT_EQ(log.find(1'000), nullptr);
  log.forget_below(500);
  EXPECT_EQ(log.oldest().time_ns, 50);
  ASSERT_NE(log.find(495), nullptr);
  EXPECT_EQ(log.find(495)->time_ns, 49);
}

TEST(SentLog, IsBoundedWithAndWithoutAnswers) {
  Budget budget;
  for (const bool is_answered : {true, false}) {
    SentLog log(budget);
    for (Position i = 0; i < 100'000; ++i) {
      log.add({.end = (i + 1) * 10, .time_ns = i, .length = 10}, is_answered);
    }
    EXPECT_LE(log.count(), SentLog::kMaxSegments);
    EXPECT_NE(log.find(999'995), nullptr);
    EXPECT_LE(budget.used, SentLog::kMaxSegments * sizeof(Sent));
  }
}

TEST(Echoes, MatchTheFirstOfAValueOnce) {
  Budget budget;
  Echoes echoes(budget);
  echoes.sent(100, 1'000);
  echoes.sent(100, 1'500);
  echoes.sent(101, 2'000);
  echoes.sent(105, 3'000);
  EXPECT_EQ(echoes.returned(101, 5'000), 3'000);
  EXPECT_FALSE(echoes.returned(100, 6'000));
  EXPECT_FALSE(echoes.returned(103, 6'000));
  EXPECT_EQ(echoes.returned(105, 6'000), 3'000);
}

TEST(SegmentSize, IsLearnedFromSuperFrames) {
  SegmentSize size;
  EXPECT_EQ(size.bytes(), 0U);
  size.saw(1'448);
  EXPECT_EQ(size.bytes(), 0U);
  for (const std::uint32_t segments : {2U, 10U, 44U}) {
    size.saw(segments * 1'448);
  }
  EXPECT_EQ(size.bytes(), 1'448U);

  SegmentSize jumbo;
  for (int i = 0; i < 10; ++i) {
    jumbo.saw(8'948);
    jumbo.saw(700);
  }
  EXPECT_EQ(jumbo.bytes(), 8'948U);
  jumbo.saw(7 * 8'948);
  EXPECT_EQ(jumbo.bytes(), 8'948U);

  SegmentSize told;
  told.agreed(1'400);
  told.saw(64'000);
  EXPECT_EQ(told.bytes(), 1'400U);
}

}  // namespace
}  // namespace chokepoint::capture::flow
