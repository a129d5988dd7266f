// Pauses of a job that are no stall: over pause.h.
#include "capture/stall/pause.h"

#include <gtest/gtest.h>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::stall {
namespace {

using fakes::kSecond;

TEST(PauseOfAJob, IsNotSpokenOfBeforeTheFirstSteps) {
  Pause pause(10 * kSecond);
  pause.note_progress(kSecond);
  pause.note_steps(4, 100);
  EXPECT_FALSE(pause.is_known());
  EXPECT_EQ(pause.length_ns(500 * kSecond), 0);
  pause.note_steps(5, 100);
  EXPECT_EQ(pause.length_ns(500 * kSecond), 499 * kSecond);
}

TEST(PauseOfAJob, MayBeFiveStepsLong) {
  Pause pause(10 * kSecond);
  pause.note_steps(10, 100);
  EXPECT_EQ(pause.limit_ns(), 10 * kSecond);
  pause.note_steps(10, 7'000);
  EXPECT_EQ(pause.limit_ns(), 35 * kSecond);
  EXPECT_EQ(pause.working_limit_ns(), 210 * kSecond);
  EXPECT_EQ(pause.sampling_start_ns(), 29 * kSecond);
}

TEST(PauseOfAJob, MayBeAsLongAsTheOnesBeforeAndMore) {
  Pause pause(10 * kSecond);
  pause.note_steps(10, 100);
  pause.note_progress(100 * kSecond);
  pause.note_progress(130 * kSecond);
  pause.note_progress(120 * kSecond);
  EXPECT_EQ(pause.since_ns(), 130 * kSecond);
  EXPECT_EQ(pause.limit_ns(), 45 * kSecond);
}

// From its start to its first steps it may compile, load and warm up.
TEST(PauseOfAJob, BeforeItsFirstStepsDoesNotCount) {
  Pause pause(10 * kSecond);
  pause.note_progress(kSecond);
  pause.note_progress(301 * kSecond);
  pause.note_steps(10, 100);
  EXPECT_EQ(pause.limit_ns(), 10 * kSecond);
}

}  // namespace
}  // namespace chokepoint::capture::stall
