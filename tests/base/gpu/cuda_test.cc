#include "base/gpu/cuda.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "tests/base/gpu/fake_driver.h"

namespace chokepoint::gpu {
namespace {

class CudaTest : public FakeDriver {};

TEST_F(CudaTest, TellsWhichGpuItIs) {
  set("FAKE_CUDA_GPUS", "2");
  const auto gpu = open(1);
  ASSERT_TRUE(gpu) << describe(gpu.error());
  EXPECT_EQ((*gpu)->name(), "GPU 1 (NVIDIA H200)");
  EXPECT_EQ((*gpu)->model(), "NVIDIA H200");
  EXPECT_EQ((*gpu)->pci_address(), "0000:b0:00.0");
  EXPECT_EQ((*gpu)->copy_engines(), 2);
  EXPECT_EQ((*gpu)->free_memory(), std::uint64_t{8} << 30);
}

TEST_F(CudaTest, TheDriverTellsHowManyThereAre) {
  set("FAKE_CUDA_GPUS", "3");
  const auto driver = Driver::open(CHOKEPOINT_FAKE_CUDA);
  ASSERT_TRUE(driver);
  EXPECT_EQ((*driver)->gpus(), 3);
  EXPECT_EQ((*driver)->version(), 13000);
}

TEST_F(CudaTest, NoGpuIsAnError) {
  set("FAKE_CUDA_GPUS", "0");
  const auto driver = Driver::open(CHOKEPOINT_FAKE_CUDA);
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(driver.error().reason, "this host has no GPU");
}

TEST_F(CudaTest, AGpuThatIsNotThereIsAnError) {
  set("FAKE_CUDA_GPUS", "2");
  EXPECT_EQ(error_of(open(2)),
            "CUDA: GPU 2: this host has GPUs 0 to 1; 'nvidia-smi -L' lists this host's GPUs; "
            "CUDA_VISIBLE_DEVICES may hide some");
}

TEST_F(CudaTest, WhatIsNoDriverOfCudaIsToldWithTheNameThatIsMissing) {
  const auto driver = Driver::open("libc.so.6");
  EXPECT_EQ(error_of(driver),
            "CUDA: libc.so.6: this driver lacks cuInit; install a newer driver of NVIDIA");
}

TEST_F(CudaTest, EachGpuHasMemoryOfItsOwn) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  auto memory = Memory::allocate(**gpu, 4096);
  ASSERT_TRUE(memory);
  const std::array<std::byte, 3> written{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> found{};
  ASSERT_TRUE((*gpu)->write(memory->address() + 9, written));
  ASSERT_TRUE((*gpu)->read(memory->address() + 9, found));
  EXPECT_EQ(found, written);
  const Memory moved(std::move(*memory));
  EXPECT_EQ(moved.bytes(), 4096U);
}

TEST_F(CudaTest, AskingTwiceToReachAnotherIsNoError) {
  set("FAKE_CUDA_GPUS", "2");
  const auto here = open(0);
  const auto there = open(1);
  ASSERT_TRUE(here && there);
  EXPECT_EQ((*here)->can_reach(**there), true);
  EXPECT_TRUE((*here)->reach(**there, true));
  EXPECT_TRUE((*here)->reach(**there, true));
  EXPECT_TRUE((*here)->reach(**there, false));
  EXPECT_TRUE((*here)->reach(**there, false));
}

TEST_F(CudaTest, EveryFailureOnTheWayIsAnErrorAndLeavesNothing) {
  int failures = 0;
  for (int call = 1; call <= 30; ++call) {
    set("FAKE_CUDA_FAIL", std::to_string(call));
    const auto gpu = open();
    const auto done = gpu ? Memory::allocate(**gpu, 4096) : Result<Memory>(fail(gpu.error()));
    failures += done ? 0 : 1;
    EXPECT_TRUE(done || done.error().reason == "unknown error") << call;
  }
  EXPECT_EQ(failures, 6);  // the versions and names of driver and GPU may be unknown
}

class Pinned : public FakeDriver {};

TEST_F(Pinned, IsWholePagesAndGivenBack) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  auto memory = PinnedMemory::allocate(**gpu, 5000);
  ASSERT_TRUE(memory) << describe(memory.error());
  EXPECT_EQ(memory->bytes().size(), 8192U);
  const PinnedMemory moved(std::move(*memory));
  EXPECT_EQ(moved.bytes().size(), 8192U);
}

TEST_F(Pinned, ANodeThatIsNotThereIsAnError) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  EXPECT_FALSE(PinnedMemory::allocate(**gpu, 5000, 1000));
}

TEST_F(Pinned, WhatCannotBePinnedIsAnError) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  set("FAKE_CUDA_FAIL", "2");
  EXPECT_EQ(error_of(PinnedMemory::allocate(**gpu, 5000)),
            "CUDA: pin host memory: GPU 0 (NVIDIA H200): unknown error; 'nvidia-smi' and 'dmesg' "
            "may show more");
}

constexpr std::uint64_t kBytes = 1'000'000;

class StreamTest : public FakeDriver {
 protected:
  void SetUp() override { set("FAKE_CUDA_GPUS", "2"); }

  // The milliseconds that `work` takes on the stream.
  template <class Work>
  static double time_of(const Stream& stream, Work work) {
    const auto start = Event::make(stream.gpu());
    const auto end = Event::make(stream.gpu());
    const bool done = start && end && stream.record(*start) && work() && stream.record(*end) &&
                      end->finish() && end->is_over() == true;
    return done ? end->milliseconds_since(*start).value_or(-1) : -1;
  }
};

TEST_F(StreamTest, CopiesThereAndBackAndTellsHowLongItTook) {
  set("FAKE_CUDA_RATES", "to=50000,from=25000");
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, kBytes);
  const auto host = PinnedMemory::allocate(**gpu, kBytes);
  const auto back = PinnedMemory::allocate(**gpu, kBytes);
  ASSERT_TRUE(stream && memory && host && back);
  const auto out = host->bytes().first(kBytes);
  const auto in = back->bytes().first(kBytes);
  std::memset(out.data(), 77, out.size());
  const auto to = [&] { return stream->to_gpu(memory->address(), out).has_value(); };
  const auto from = [&] { return stream->from_gpu(in, memory->address()).has_value(); };
  EXPECT_NEAR(time_of(*stream, to), 0.02, 1e-6);
  EXPECT_NEAR(time_of(*stream, from), 0.04, 1e-6);
  EXPECT_EQ(std::memcmp(out.data(), in.data(), kBytes), 0);
}

TEST_F(StreamTest, FillsMemory) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto one = Memory::allocate(**gpu, 4096);
  ASSERT_TRUE(stream && one);
  ASSERT_TRUE(stream->fill(one->address(), 0x01020304, 1024));
  ASSERT_TRUE(stream->finish());
  std::array<std::byte, 4> last{};
  ASSERT_TRUE((*gpu)->read(one->address() + 4092, last));
  EXPECT_EQ(last, (std::array{std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}}));
}

TEST_F(StreamTest, CopiesBetweenGpusFasterWhereOneReachesTheOther) {
  const auto one = open(0);
  const auto other = open(1);
  ASSERT_TRUE(one && other);
  const auto stream = Stream::make(**one);
  const auto from = Memory::allocate(**one, kBytes);
  const auto to = Memory::allocate(**other, kBytes);
  ASSERT_TRUE(stream && from && to);
  ASSERT_TRUE(stream->fill(from->address(), 7, kBytes / 4));
  const auto copy = [&] {
    return stream->between(**other, to->address(), **one, from->address(), kBytes).has_value();
  };
  EXPECT_NEAR(time_of(*stream, copy), 1.0 / 6, 1e-6);
  ASSERT_TRUE((*one)->reach(**other, true));
  EXPECT_NEAR(time_of(*stream, copy), 0.025, 1e-6);
  ASSERT_TRUE((*one)->reach(**other, false));
  std::array<std::byte, 1> found{};
  ASSERT_TRUE((*other)->read(to->address(), found));
  EXPECT_EQ(found[0], std::byte{7});
}

TEST_F(StreamTest, OneWaitsForWhatAnotherRecorded) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto one = Stream::make(**gpu);
  const auto other = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, kBytes);
  const auto host = PinnedMemory::allocate(**gpu, kBytes);
  const auto event = Event::make(**gpu);
  ASSERT_TRUE(one && other && memory && host && event);
  const double waited = time_of(*other, [&] {
    return one->to_gpu(memory->address(), host->bytes().first(kBytes)) && one->record(*event) &&
           other->wait_for(*event);
  });
  EXPECT_NEAR(waited, 0.02, 1e-6);
}

TEST_F(StreamTest, EventsThatWereNotRecordedTellNoTime) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto start = Event::make(**gpu);
  const auto end = Event::make(**gpu);
  ASSERT_TRUE(start && end);
  EXPECT_FALSE(end->milliseconds_since(*start));
}

TEST_F(StreamTest, AFailureNamesWhatFailed) {
  const auto gpu = open();
  ASSERT_TRUE(gpu);
  const auto stream = Stream::make(**gpu);
  const auto memory = Memory::allocate(**gpu, 4096);
  ASSERT_TRUE(stream && memory);
  set("FAKE_CUDA_FAIL", "2");
  EXPECT_EQ(error_of(stream->fill(memory->address(), 1, 1)),
            "CUDA: fill memory: GPU 0 (NVIDIA H200): unknown error; 'nvidia-smi' and 'dmesg' may "
            "show more");
}

}  // namespace
}  // namespace chokepoint::gpu
