#include "probe/pcie/gpu_survey.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe::pcie {
namespace {

constexpr const char* kGenerations = "FAKE_NVML_GENERATIONS";

// A file of the GPU's root port, or below it.
std::string at(const std::string& file) { return "/sys/devices/pci0000:3a/0000:3a:00.0/" + file; }

class LinkLatchTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv(kGenerations);
    unsetenv("FAKE_NVML_REPLAYS");
  }

  // For several looks.
  static void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(150)); }

  fakes::HostTree tree_ = fakes::HostTree::from_fixture("gpu-gen2-load");
};

TEST_F(LinkLatchTest, KeepsTheBestThatNvmlTellsUnderLoad) {
  setenv(kGenerations, "1,3,5,4", 1);
  const auto nvml = host::NvmlLinks::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(nvml);
  LinkLatch latch(tree_.root(), "0000:3b:00.0", &*nvml);
  latch.copying() = true;
  wait();
  const LinkSeen seen = latch.stop();
  EXPECT_EQ(seen.idle.speed_gts, 2.5);
  EXPECT_EQ(seen.best.speed_gts, 32);
  EXPECT_EQ(seen.last.speed_gts, 16);
  EXPECT_EQ(seen.best.width, 16);
  EXPECT_GE(seen.looks, 2);
}

TEST_F(LinkLatchTest, WhatIsSeenWithoutLoadCountsForNothing) {
  setenv(kGenerations, "1,5", 1);
  const auto nvml = host::NvmlLinks::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(nvml);
  LinkLatch latch(tree_.root(), "0000:3b:00.0", &*nvml);
  wait();
  const LinkSeen seen = latch.stop();
  EXPECT_EQ(seen.looks, 0);
  EXPECT_EQ(seen.best, host::PciLink());
}

TEST_F(LinkLatchTest, WithoutNvmlSysfsTells) {
  LinkLatch latch(tree_.root(), "0000:3b:00.0", nullptr);
  latch.copying() = true;
  tree_.write(at("0000:3b:00.0/current_link_speed"), "16.0 GT/s PCIe");
  tree_.write(at("current_link_speed"), "16.0 GT/s PCIe");
  wait();
  const LinkSeen seen = latch.stop();
  EXPECT_EQ(seen.idle, (host::PciLink{.speed_gts = 5, .width = 16}));
  EXPECT_EQ(seen.best, (host::PciLink{.speed_gts = 16, .width = 16}));
  ASSERT_EQ(seen.hops.size(), 2U);
  EXPECT_EQ(seen.hops[0].current.speed_gts, 16);
  EXPECT_EQ(seen.replays_before, std::nullopt);
}

TEST_F(LinkLatchTest, CountsReplaysAndErrorsMeanwhile) {
  setenv("FAKE_NVML_REPLAYS", "5", 1);
  const auto nvml = host::NvmlLinks::open(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(nvml);
  tree_.write(at("aer_dev_correctable"), "RxErr 3\nTOTAL_ERR_COR 3");
  LinkLatch latch(tree_.root(), "0000:3b:00.0", &*nvml);
  tree_.write(at("aer_dev_correctable"), "RxErr 10\nTOTAL_ERR_COR 10");
  const LinkSeen seen = latch.stop();
  EXPECT_EQ(*seen.replays_after - *seen.replays_before, 5);
  EXPECT_EQ(seen.errors_before, 3);
  EXPECT_EQ(seen.errors_after, 10);
}

TEST_F(LinkLatchTest, ADeviceThatNobodyKnowsIsUnknown) {
  LinkLatch latch(tree_.root(), "0000:77:00.0", nullptr);
  latch.copying() = true;
  wait();
  const LinkSeen seen = latch.stop();
  EXPECT_EQ(seen.looks, 0);
  EXPECT_TRUE(seen.hops.empty());
}

TEST_F(LinkLatchTest, WhatIsNoNvmlIsAnError) {
  EXPECT_FALSE(host::NvmlLinks::open("libc.so.6"));
  EXPECT_FALSE(host::NvmlLinks::open("libnvidia-of-nowhere.so.1"));
}

}  // namespace
}  // namespace chokepoint::probe::pcie
