#include "probe/pcie/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/gpu/cuda.h"
#include "tests/base/gpu/fake_driver.h"
#include "tests/probe/pcie/rates.h"

namespace chokepoint::probe::pcie {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kBytes = 64 << 10;

class BenchTest : public gpu::FakeDriver {
 protected:
  void SetUp() override { pace_.time = std::chrono::microseconds(100); }

  // Copies between the GPU and memory that is pinned, or not.
  Result<HostCopies> copy(bool is_pinned = true) {
    HostCopies copies;
    const auto gpu = open();
    const auto bench = gpu ? Bench::make(**gpu, kBytes) : Result<Bench>(fail(gpu.error()));
    if (!bench) {
      return fail(bench.error());
    }
    auto source = sys::Pages::map(kBytes, {});
    auto target = sys::Pages::map(kBytes, {});
    if (!is_pinned) {
      done_ = bench->copy(source->bytes(), target->bytes(), pace_, "memory", copies, verified_);
      return copies;
    }
    const auto from = gpu::PinnedMemory::pin(**gpu, std::move(*source));
    const auto to = gpu::PinnedMemory::pin(**gpu, std::move(*target));
    if (!from || !to) {
      return fail((from ? to : from).error());
    }
    done_ = bench->copy(from->bytes(), to->bytes(), pace_, "memory", copies, verified_);
    two_streams_ = bench->two_streams(from->bytes(), to->bytes(), pace_);
    return copies;
  }

  Pace pace_;
  Verified verified_;
  Result<> done_;
  Result<double> two_streams_;
};

TEST_F(BenchTest, MeasuresEachWayAndBoth) {
  set("FAKE_CUDA_RATES", "to=50000,from=40000");
  const auto copies = copy();
  ASSERT_TRUE(copies && done_);
  EXPECT_NEAR(*copies->to_gpu_mbps, 50000 * kMegabyte, 1);
  EXPECT_NEAR(*copies->from_gpu_mbps, 40000 * kMegabyte, 1);
  // Both lanes copy as often; the slower one ends last.
  EXPECT_NEAR(*copies->both_mbps, 80000 * kMegabyte, 2);
  EXPECT_NEAR(*two_streams_, 50000 * kMegabyte, 1);
  EXPECT_THAT(verified_.wrong, IsEmpty());
  EXPECT_EQ(verified_.bytes, 4 * kBytes);
}

TEST_F(BenchTest, OneEngineLetsOneWayWaitForTheOther) {
  set("FAKE_CUDA_ENGINES", "1");
  const auto copies = copy();
  ASSERT_TRUE(copies && done_);
  EXPECT_NEAR(*copies->both_mbps, *copies->to_gpu_mbps, 1);
}

TEST_F(BenchTest, WhatGoesTheOtherWayMayHoldItBack) {
  set("FAKE_CUDA_RATES", "both=0.25");
  const auto copies = copy();
  ASSERT_TRUE(copies && done_);
  EXPECT_LT(*copies->both_mbps, *copies->to_gpu_mbps);
}

TEST_F(BenchTest, PageableMemoryIsMeasuredAsItIs) {
  set("FAKE_CUDA_RATES", "pageable=3000");
  const auto copies = copy(false);
  ASSERT_TRUE(copies && done_);
  EXPECT_NEAR(*copies->to_gpu_mbps, 3000 * kMegabyte, 1);
}

TEST_F(BenchTest, AByteThatFlipsIsFound) {
  set("FAKE_CUDA_FLIP", "1");
  ASSERT_TRUE(copy());
  EXPECT_THAT(verified_.wrong, ElementsAre("to the GPU from memory: byte 65535 of 65536 differs",
                                           "both directions, memory: byte 65535 of 65536 differs"));
}

TEST_F(BenchTest, AStopEndsIt) {
  pace_.stopped = [] { return true; };
  const auto copies = copy();
  ASSERT_TRUE(copies);
  ASSERT_FALSE(done_);
  EXPECT_EQ(done_.error().kind, ErrorKind::Interrupted);
  EXPECT_EQ(copies->to_gpu_mbps, std::nullopt);
}

TEST_F(BenchTest, WhatWasMeasuredBeforeAStopStays) {
  int asked = 0;
  pace_.stopped = [&] { return ++asked > 4; };
  const auto copies = copy();
  ASSERT_TRUE(copies);
  EXPECT_FALSE(done_);
  EXPECT_TRUE(copies->to_gpu_mbps);
  EXPECT_FALSE(copies->from_gpu_mbps);
}

TEST_F(BenchTest, EveryFailureOfTheDriverIsAnErrorAndLeavesNothing) {
  pace_.time = std::chrono::nanoseconds(1);
  int failures = 0;
  for (int call = 1;; ++call) {
    set("FAKE_CUDA_FAIL", std::to_string(call));
    verified_ = {};
    two_streams_ = 0;
    done_ = {};
    const auto copies = copy();
    const bool failed = !copies || !done_ || !two_streams_;
    failures += failed ? 1 : 0;
    // Several calls may fail without harm: names, and what gives back.
    if (!failed && call > 300) {
      break;
    }
    ASSERT_LT(call, 2000);
  }
  EXPECT_GT(failures, 100);
}

TEST_F(BenchTest, TellsThatCopiesAreUnderWayWhileTheyAre) {
  std::atomic<bool> copying = false;
  bool was_copying = false;
  pace_.copying = &copying;
  pace_.stopped = [&] {
    was_copying = was_copying || copying;
    return false;
  };
  ASSERT_TRUE(copy() && done_);
  EXPECT_TRUE(was_copying);
  EXPECT_FALSE(copying);
}

class Pattern : public testing::TestWithParam<std::size_t> {};

TEST_P(Pattern, EveryByteThatChangesIsFound) {
  std::vector<std::byte> bytes(GetParam());
  fill_pattern(bytes, 7);
  EXPECT_EQ(difference(bytes, 7), std::nullopt);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= std::byte{0x10};
    EXPECT_EQ(difference(bytes, 7), at);
    bytes[at] ^= std::byte{0x10};
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Pattern, testing::Values(1, 7, 8, 9, 64, 1003));

TEST(Pattern, OfAnotherSeedOrOfNothingIsDifferent) {
  std::vector<std::byte> bytes(4096);
  EXPECT_TRUE(difference(bytes, 1));
  fill_pattern(bytes, 1);
  EXPECT_TRUE(difference(bytes, 2));
}

TEST(Pattern, MovedByAWordIsDifferent) {
  std::vector<std::byte> bytes(4096);
  fill_pattern(bytes, 1);
  EXPECT_TRUE(difference(std::span(bytes).subspan(8), 1));
}

}  // namespace

}  // namespace chokepoint::probe::pcie
