#include "base/host/gpu.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Nvml, TellsWhatItsLibraryTells) {
  const Result<GpuStates> states = ask_nvml(CHOKEPOINT_FAKE_NVML);
  ASSERT_TRUE(states) << describe(states.error());
  EXPECT_EQ(states->source, "NVML");
  EXPECT_EQ(states->driver_version, "550.54.15");
  ASSERT_EQ(states->gpus.size(), 1);
  const GpuState& gpu = states->gpus[0];
  EXPECT_EQ(gpu.address, "0000:af:00.0");
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.generation, 4);
  EXPECT_EQ(gpu.max_generation, 5);
  EXPECT_EQ(gpu.width, 16);
  EXPECT_EQ(gpu.utilisation_percent, 97);
  EXPECT_EQ(gpu.performance_state, std::nullopt) << "NVML's word for not known";
  EXPECT_EQ(gpu.replays, std::nullopt) << "not supported is not zero";
}

TEST(Nvml, ALibraryThatIsNotThereIsNotFound) {
  const Result<GpuStates> states = ask_nvml("libno-such-nvml.so.1");
  ASSERT_FALSE(states);
  EXPECT_EQ(states.error().kind, ErrorKind::NotFound);
}

TEST(Nvml, ALibraryWithoutItsFunctionsIsUnsupported) {
  const Result<GpuStates> states = ask_nvml("libm.so.6");
  ASSERT_FALSE(states);
  EXPECT_EQ(states.error().kind, ErrorKind::Unsupported);
}

TEST(RecordedGpus, AreReadFromACopy) {
  const Result<GpuStates> states =
      read_gpu_states(fakes::HostTree::from_fixture("gpu-gen2-load").root());
  ASSERT_TRUE(states);
  ASSERT_EQ(states->gpus.size(), 1);
  EXPECT_EQ(states->gpus[0].address, "0000:3b:00.0");
  EXPECT_EQ(states->gpus[0].generation, 2);
  EXPECT_EQ(states->gpus[0].performance_state, 0);
}

TEST(RecordedGpus, WhatIsNoSuchRecordIsMalformed) {
  for (const char* text : {"{", "[]", "{\"gpus\": 1}"}) {
    const auto tree = fakes::HostTree::from_text("");
    tree.write("/chokepoint/nvml.json", text);
    const Result<GpuStates> states = read_recorded_gpus(tree.root());
    ASSERT_FALSE(states) << text;
    EXPECT_EQ(states.error().kind, ErrorKind::Malformed) << text;
  }
}

TEST(RecordedGpus, ValuesOfAnotherKindAreNotKnown) {
  const auto tree = fakes::HostTree::from_text("");
  tree.write(
      "/chokepoint/nvml.json",
      R"({"gpus": [1, {"bus_id": "00000000:3B:00.0", "pcie_width": "x16", "pcie_generation": null}]})");
  const Result<GpuStates> states = read_recorded_gpus(tree.root());
  ASSERT_EQ(states->gpus.size(), 1);
  EXPECT_EQ(states->gpus[0].width, std::nullopt);
  EXPECT_EQ(states->gpus[0].generation, std::nullopt);
}

Gpus gpus_of(const char* fixture) {
  const auto tree = fakes::HostTree::from_fixture(fixture);
  return read_gpus(tree.root(), read_gpu_states(tree.root()));
}

TEST(Gpus, SysfsAndTheDriverTogether) {
  const Gpus gpus = gpus_of("gpu-gen1-idle");
  EXPECT_EQ(gpus.driver_version, "550.54.15");
  EXPECT_FALSE(gpus.problem);
  ASSERT_EQ(gpus.gpus.size(), 1);
  EXPECT_EQ(gpus.gpus[0].name, "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(gpus.gpus[0].driver, "nvidia");
  EXPECT_EQ(gpus.gpus[0].numa_node, 0);
  EXPECT_EQ(gpus.gpus[0].current, (PciLink{2.5, 16}));
  EXPECT_EQ(gpus.gpus[0].possible, (PciLink{16.0, 16}));
  EXPECT_EQ(gpus.gpus[0].performance_state, 8);
}

TEST(Gpus, WithoutTheDriversWordTheLinkIsKnownAndTheLoadIsNot) {
  const auto tree = fakes::HostTree::from_fixture("gpu-gen1-idle");
  tree.remove("/chokepoint/nvml.json");
  const Gpus gpus = read_gpus(tree.root(), read_gpu_states(tree.root()));
  EXPECT_TRUE(gpus.problem);
  EXPECT_EQ(gpus.driver_version, "550.54.15");
  ASSERT_EQ(gpus.gpus.size(), 1);
  EXPECT_EQ(gpus.gpus[0].current, (PciLink{2.5, 16}));
  EXPECT_EQ(gpus.gpus[0].performance_state, std::nullopt);
}

TEST(Gpus, OtherDevicesAreNone) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/bus/pci/devices/0000:01:00.0/vendor = 0x10de\n"
      "/sys/bus/pci/devices/0000:01:00.0/class = 0x040300\n"
      "/sys/bus/pci/devices/0000:02:00.0/vendor = 0x8086\n"
      "/sys/bus/pci/devices/0000:02:00.0/class = 0x030000\n");
  EXPECT_TRUE(read_gpus(tree.root(), GpuStates()).gpus.empty());
}

TEST(Gpus, AGpuThatOnlyTheDriverShowsIsThere) {
  const Gpus gpus =
      read_gpus(fakes::HostTree::from_text("").root(), ask_nvml(CHOKEPOINT_FAKE_NVML));
  ASSERT_EQ(gpus.gpus.size(), 1);
  EXPECT_EQ(gpus.gpus[0].current, (PciLink{16.0, 16}));
}

TEST(RecordedGpus, WhatNoGpuCanBeIsLeftOut) {
  const auto tree = fakes::HostTree::from_text(
      "/chokepoint/nvml.json <<END\n"
      "{\"gpus\": [{\"bus_id\": \"; rm -rf /\"}, {\"bus_id\": 7}, 5, {\"name\": \"x\"},\n"
      " {\"bus_id\": \"00000000:3B:00.0\", \"pcie_width\": -5, \"pcie_max_width\": 33,\n"
      "  \"pcie_generation\": 0, \"pcie_max_generation\": 5000000000,\n"
      "  \"performance_state\": 32, \"utilization_percent\": 101}]}\n"
      "END\n");
  const auto states = read_recorded_gpus(tree.root());
  ASSERT_TRUE(states);
  ASSERT_EQ(states->gpus.size(), 1U);
  const GpuState& gpu = states->gpus.front();
  EXPECT_EQ(gpu.address, "0000:3b:00.0");
  for (const auto& value : {gpu.width, gpu.max_width, gpu.generation, gpu.max_generation,
                            gpu.performance_state, gpu.utilisation_percent}) {
    EXPECT_EQ(value, std::nullopt);
  }
}

}  // namespace
}  // namespace chokepoint::host
