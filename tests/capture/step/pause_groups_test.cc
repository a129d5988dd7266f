#include "capture/step/pause_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace chokepoint::capture::step {
namespace {

std::size_t size_of(std::size_t count, const std::function<double(std::size_t)>& pause) {
  std::vector<double> pauses;
  for (std::size_t place = 0; place < count; ++place) {
    pauses.push_back(pause(place));
  }
  return pause_groups(std::move(pauses)).size;
}

TEST(PauseGroups, AStepBeginsAfterThePauseInWhichItsRankComputes) {
  const auto pause = [](std::size_t place) { return place % 4 == 3 ? 60.0 : 1.0; };
  EXPECT_EQ(size_of(40, pause), 4U);
  std::vector<double> pauses;
  for (std::size_t place = 0; place < 40; ++place) {
    pauses.push_back(pause(place));
  }
  EXPECT_DOUBLE_EQ(pause_groups(pauses).pause, 60);
}

TEST(PauseGroups, AFewLongPausesAreNoSteps) {
  EXPECT_EQ(size_of(40, [](std::size_t place) { return place == 7 || place == 26 ? 5'000 : 10; }),
            1U);
}

TEST(PauseGroups, WhereEachCollectiveHasAPauseEachMayBeAStep) {
  EXPECT_EQ(size_of(40, [](std::size_t) { return 50; }), 1U);
}

TEST(PauseGroups, OfFewCollectivesThereAreNone) {
  EXPECT_EQ(size_of(0, [](std::size_t) { return 50; }), 1U);
  EXPECT_EQ(size_of(3, [](std::size_t) { return 50; }), 1U);
}

}  // namespace
}  // namespace chokepoint::capture::step
