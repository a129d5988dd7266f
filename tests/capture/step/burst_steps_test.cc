// Steps out of bursts of traffic: over burst_steps.cc, traffic_period.cc and collective_cycle.cc.
#include "capture/step/burst_steps.h"

#include <gmock/gmock.h>

#include <random>
#include <tuple>
#include <vector>

#include "capture/step/traffic_period.h"

namespace chokepoint::capture::step {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr double kPeriodNs = 100;

// What is reported, as length and number of steps.
class BurstStepsOf : public testing::Test {
 protected:
  using Row = std::tuple<std::int64_t, std::int64_t>;

  void add(std::int64_t length, double bytes = 1000) {
    steps.add({.start_ns = now, .end_ns = now + length, .bytes = bytes});
    now += length;
  }
  void add_usual(int count) {
    for (int i = 0; i < count; ++i) add(100);
  }
  std::vector<Row> reported() {
    std::vector<Row> rows;
    steps.report(kPeriodNs, [&](std::int64_t start_ns, std::int64_t end_ns, std::int64_t count) {
      rows.emplace_back(end_ns - start_ns, count);
    });
    return rows;
  }

  BurstSteps steps;
  std::int64_t now = 1'000;
};

TEST_F(BurstStepsOf, EachIsToldOnce) {
  add_usual(20);
  EXPECT_THAT(reported(), SizeIs(20));
  EXPECT_THAT(reported(), IsEmpty());
  add(104);
  EXPECT_THAT(reported(), ElementsAre(Row(104, 1)));
}

TEST_F(BurstStepsOf, PartsOfAStepGoTogether) {
  add_usual(20);
  (void)reported();
  add(60, 400);
  EXPECT_THAT(reported(), IsEmpty());
  add(70, 600);
  EXPECT_THAT(reported(), ElementsAre(Row(130, 1)));
}

TEST_F(BurstStepsOf, StepsWhoseBorderWasNotSeenAreTwo) {
  add_usual(20);
  (void)reported();
  add(210, 2000);
  EXPECT_THAT(reported(), ElementsAre(Row(210, 2)));
}

TEST_F(BurstStepsOf, BordersThatSlipMakeNoStepTooMany) {
  add_usual(20);
  (void)reported();
  for (int i = 0; i < 5; ++i) add(80, 800);
  add_usual(4);
  std::int64_t length = 0;
  std::int64_t count = 0;
  for (const auto& [row_length, row_steps] : reported()) {
    length += row_length;
    count += row_steps;
  }
  EXPECT_EQ(count, 8);
  EXPECT_EQ(length, 800);
}

TEST_F(BurstStepsOf, AStepMayStallButNotForLong) {
  add_usual(20);
  (void)reported();
  add(350);
  add(1'000);
  add(100);
  EXPECT_THAT(reported(), ElementsAre(Row(350, 1), Row(100, 1)));
}

TEST_F(BurstStepsOf, WhatFitsNoStepIsLeftOut) {
  add_usual(20);
  (void)reported();
  add(100, 400'000'500);
  add_usual(4);
  EXPECT_THAT(reported(), Each(Row(100, 1)));
}

TEST_F(BurstStepsOf, OfUnlikeBytesTheLengthsTell) {
  std::mt19937 random{3};
  for (int i = 0; i < 60; ++i) add(100, 1000 + static_cast<double>(random() % 3000));
  add(200, 1000);
  const std::vector<Row> rows = reported();
  EXPECT_THAT(rows, SizeIs(60));
  EXPECT_THAT(rows, Each(Row(100, 1)));
}

TEST_F(BurstStepsOf, BucketsBetweenPausesAreNoSteps) {
  for (int i = 0; i < 10; ++i) {
    for (const std::int64_t length : {100, 100, 100, 300}) add(length);
  }
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(BurstStepsOf, LayersOfTwoPassesAreNoSteps) {
  for (int i = 0; i < 10; ++i) {
    for (int layer = 0; layer < 8; ++layer) add(75);
    for (int layer = 0; layer < 8; ++layer) add(125);
  }
  EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(BurstStepsOf, BucketsOfUnlikeBytesAreNoSteps) {
  for (int i = 0; i < 20; ++i) {
    for (const double bytes : {2000.0, 3000.0, 1000.0}) add(100, bytes);
  }
  EXPECT_THAT(reported(), IsEmpty());
}

TEST(ComesBackTest, ChanceATrendAndWhatIsRareDoNot) {
  std::mt19937 random{7};
  std::vector<double> chance;
  std::vector<double> trend;
  std::vector<double> logging;
  for (int i = 0; i < 250; ++i) {
    chance.push_back(100 + static_cast<double>(random() % 100));
    trend.push_back(100 + i);
    logging.push_back(i % 10 == 0 ? 200 : 100);
  }
  EXPECT_FALSE(is_periodic(chance));
  EXPECT_FALSE(is_periodic(trend));
  EXPECT_FALSE(is_periodic(logging));
  EXPECT_FALSE(is_periodic({}));
}

TEST(ComesBackTest, APatternDoes) {
  std::mt19937 random{7};
  std::vector<double> values;
  for (int i = 0; i < 60; ++i) {
    values.push_back((i % 5 < 2 ? 100 : 150) + static_cast<double>(random() % 10));
  }
  EXPECT_TRUE(is_periodic(values));
}

}  // namespace
}  // namespace chokepoint::capture::step
