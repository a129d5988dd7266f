#include "base/gpu/pinned.h"

#include <gtest/gtest.h>

#include "tests/base/gpu/fake_driver.h"

namespace chokepoint::gpu {
namespace {

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
            "may tell more");
}

}  // namespace
}  // namespace chokepoint::gpu
