#include "capture/observer/progress.h"

#include <gtest/gtest.h>

namespace chokepoint::capture::observer {
namespace {

source::Batch batch_at(std::vector<std::int64_t> times) {
  source::Batch batch;
  for (const std::int64_t time_ns : times) {
    batch.frames.push_back({.time_ns = time_ns, .frame_bytes = 100});
  }
  return batch;
}

TEST(CaptureProgress, CountsFramesAndTheTimeTheyTook) {
  CaptureProgress progress;
  progress.take(batch_at({1'000'000'000, 2'000'000'000}));
  progress.take(batch_at({}));
  progress.take(batch_at({3'500'000'000}));
  EXPECT_EQ(progress.now().frames, 3U);
  EXPECT_EQ(progress.now().frame_bytes, 300U);
  EXPECT_DOUBLE_EQ(progress.now().seconds(), 2.5);
}

TEST(CaptureProgress, AClockSetBackDoesNotMakeItShorter) {
  CaptureProgress progress;
  progress.take(batch_at({1'000'000'000, 2'000'000'000}));
  progress.take(batch_at({500'000'000}));
  EXPECT_DOUBLE_EQ(progress.now().seconds(), 1);
}

TEST(CaptureProgress, DropsBeyondABoundAreSummedUp) {
  CaptureProgress progress;
  source::Batch batch;
  batch.drops.assign(10'000, {.by_kernel = 1});
  progress.take(batch);
  EXPECT_LT(progress.drops().size(), 5'000U);
  std::uint64_t sum = 0;
  for (const source::Drop& drop : progress.drops()) {
    sum += drop.by_kernel;
  }
  EXPECT_EQ(sum, 10'000U);
  EXPECT_EQ(progress.now().dropped_by_kernel, 10'000U);
}

TEST(CaptureProgress, AnInterfaceThatIsNotKnownHasNoName) {
  CaptureProgress progress;
  progress.take(std::vector<source::Interface>{{.name = "eth0"}});
  EXPECT_EQ(progress.interface_name(0), "eth0");
  EXPECT_EQ(progress.interface_name(1), "");
}

}  // namespace
}  // namespace chokepoint::capture::observer
