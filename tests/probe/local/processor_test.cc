#include "probe/local/processor.h"

#include <gtest/gtest.h>

#include <chrono>

namespace chokepoint::probe::processor {
namespace {

using std::chrono::milliseconds;

TEST(Processor, EachComputesByItself) {
  const auto outcome = measure({.time = milliseconds(20)});
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->interrupted);
  EXPECT_GT(outcome->alone.million_steps_per_s, 0);
  EXPECT_FALSE(outcome->alone.processor);
  ASSERT_FALSE(outcome->processors.empty());
  int before = -1;
  for (const ProcessorPace& pace : outcome->processors) {
    EXPECT_GT(pace.processor.value_or(-1), before);
    before = pace.processor.value_or(-1);
    EXPECT_LE(pace.got_percent, 100);
  }
}

TEST(Processor, EndsAtOnceWhereTheUserWantsItToEnd) {
  const auto outcome = measure({.time = std::chrono::hours(1), .stopped = [] { return true; }});
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_TRUE(outcome->processors.empty());
}

TEST(Outcome, IsAsGoodAsItsWorstProcessor) {
  const auto outcome =
      outcome_of({}, {{.processor = 0, .million_steps_per_s = 10, .got_percent = 99},
                      {.processor = 1, .million_steps_per_s = 4, .got_percent = 40}});
  EXPECT_EQ(outcome.total_million_steps_per_s, 14);
  EXPECT_EQ(outcome.least_got_percent, 40);
  EXPECT_EQ(outcome_of({.got_percent = 70}, {}).least_got_percent, 70);
}

}  // namespace
}  // namespace chokepoint::probe::processor
