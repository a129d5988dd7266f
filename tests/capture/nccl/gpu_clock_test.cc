#include "capture/nccl/gpu_clock.h"

#include <gtest/gtest.h>

#include "tests/capture/nccl/made_entries.h"

namespace chokepoint::capture::nccl {
namespace {

TEST(GpuClock, KnowsNothingBeforeAnythingWasSeen) { EXPECT_FALSE(GpuClock().host_ns(5)); }

TEST(GpuClock, TakesTheLeastDelayForNone) {
  GpuClock clock;
  for (const std::int64_t delay : {900, 40, 300}) {
    clock.learn(7'000, 1'007'000 + delay);
  }
  EXPECT_EQ(clock.host_ns(8'000), 1'008'040);
}

TEST(GpuClock, FollowsAClockOfAnotherRate) {
  GpuClock clock;
  constexpr double kFast = 1.0001;
  for (std::int64_t at = 0; at < 100 * kSecond; at += kSecond / 10) {
    const auto gpu = static_cast<std::int64_t>(static_cast<double>(at) * kFast);
    clock.learn(gpu, at + 20'000);
    EXPECT_NEAR(static_cast<double>(*clock.host_ns(gpu)), static_cast<double>(at), 1'100'000);
  }
}

TEST(GpuClock, ForgetsWhatItSawBeforeALongPause) {
  GpuClock clock;
  clock.learn(1'000, 1'010);
  clock.learn(100 * kSecond, 100 * kSecond + 5'000'000);
  EXPECT_EQ(clock.host_ns(100 * kSecond), 100 * kSecond + 5'000'000);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
