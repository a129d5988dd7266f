#include "base/gpu/cuda.h"

#include <gtest/gtest.h>

#include <array>

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

}  // namespace
}  // namespace chokepoint::gpu
