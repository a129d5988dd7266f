#include "capture/step/pause_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::step {
namespace {

using fakes::kMs;

// Collectives of 10 ms each, with a pause of so many milliseconds before each.
std::vector<record::Collective> made(std::size_t count,
                                     const std::function<std::int64_t(std::size_t)>& pause_ms) {
  std::vector<record::Collective> rows;
  std::int64_t now_ns = 1'000 * kMs;
  for (std::size_t place = 0; place < count; ++place) {
    now_ns += pause_ms(place) * kMs;
    rows.push_back({.start_ns = now_ns,
                    .end_ns = now_ns + 10 * kMs,
                    .own_ready_ns = now_ns,
                    .last_data_ns = now_ns + 10 * kMs});
    now_ns += 10 * kMs;
  }
  return rows;
}

TEST(PauseGroups, AStepBeginsAfterThePauseInWhichItsRankComputes) {
  const auto rows = made(41, [](std::size_t place) { return place % 4 == 0 ? 60 : 1; });
  const std::vector<Step> steps = steps_between_pauses(rows);
  ASSERT_EQ(steps.size(), 9U);
  for (const Step& step : steps) {
    EXPECT_EQ(step.end_ns - step.start_ns, (60 + 3 + 40) * kMs);
  }
  EXPECT_EQ(steps.front().start_ns, rows[4].start_ns);
}

TEST(PauseGroups, AFewLongPausesAreNoSteps) {
  const auto rows =
      made(40, [](std::size_t place) { return place == 7 || place == 26 ? 5'000 : 10; });
  EXPECT_TRUE(steps_between_pauses(rows).empty());
}

TEST(PauseGroups, WhereEachCollectiveHasAPauseEachMayBeAStep) {
  EXPECT_TRUE(steps_between_pauses(made(40, [](std::size_t) { return 50; })).empty());
}

TEST(PauseGroups, OfFewCollectivesThereAreNone) {
  EXPECT_TRUE(steps_between_pauses({}).empty());
  EXPECT_TRUE(steps_between_pauses(made(3, [](std::size_t) { return 50; })).empty());
}

}  // namespace
}  // namespace chokepoint::capture::step
