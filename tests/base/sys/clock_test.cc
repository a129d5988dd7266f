#include "base/sys/clock.h"

#include <gtest/gtest.h>

namespace chokepoint::sys {
namespace {

TEST(Clock, MonotonicNeverGoesBack) {
  const SystemClock clock;
  const std::int64_t first = clock.monotonic_ns();
  EXPECT_LE(first, clock.monotonic_ns());
}

TEST(Clock, ThreadCpuTimePassesOnlyWhileTheThreadRuns) {
  const SystemClock clock;
  // First, so that it spans what the thread's clock counts.
  const std::int64_t begun_ns = clock.monotonic_ns();
  const std::int64_t begin_ns = thread_cpu_ns();
  while (thread_cpu_ns() - begin_ns < 1'000'000) {
  }
  EXPECT_GE(clock.monotonic_ns() - begun_ns, 990'000);  // NTP may slew one of the two
}

TEST(Clock, Rfc3339) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'795'169'520'123'456'789), "2026-11-20T10:12:00.123Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace chokepoint::sys
