#include "capture/run/ticker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace chokepoint::capture::run {
namespace {

constexpr std::int64_t kHourNs = 3'600'000'000'000;

TEST(Ticker, TicksWhenItIsDueAndStopsInTheMidstOfAPause) {
  const sys::SystemClock clock;
  std::atomic<int> ticks = 0;
  Ticker ticker("test", clock,
                [&] { return clock.monotonic_ns() + (++ticks < 5 ? 1'000'000 : kHourNs); });
  while (ticks < 5) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ticker.stop();
  EXPECT_EQ(ticks, 5);
}

TEST(Ticker, WhoIsLateIsCalledOnce) {
  const sys::SystemClock clock;
  std::atomic<int> ticks = 0;
  Ticker ticker("test", clock, [&] {
    return ++ticks < 3 ? clock.monotonic_ns() - kHourNs : clock.monotonic_ns() + kHourNs;
  });
  while (ticks < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(ticks, 3);
  ticker.stop();
}

}  // namespace
}  // namespace chokepoint::capture::run
