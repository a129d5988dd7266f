#include "base/sys/clock.h"

#include <gtest/gtest.h>

namespace chokepoint::sys {
namespace {

TEST(Clock, MonotonicNeverGoesBack) {
  const SystemClock clock;
  const std::int64_t first = clock.monotonic_ns();
  EXPECT_LE(first, clock.monotonic_ns());
}

TEST(Clock, Rfc3339) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'795'169'520'123'456'789), "2026-11-20T10:12:00.123Z");
  EXPECT_EQ(rfc3339(-1), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace chokepoint::sys
