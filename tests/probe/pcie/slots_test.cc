#include "probe/pcie/slots.h"

#include <gmock/gmock.h>

#include <map>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe::pcie {
namespace {

using testing::ElementsAre;

Slots slots_of(const fakes::HostTree& tree) {
  return read_slots(tree.root(), host::read_recorded_gpus(tree.root()));
}

Slots slots_in(const std::string& fixture) {
  return slots_of(fakes::HostTree::from_fixture(fixture));
}

// "PIX", by the last parts of both addresses.
std::string between(const Slots& slots, std::string_view one, std::string_view other) {
  const auto at = [&](std::string_view bus) {
    return std::ranges::find_if(
        slots.devices, [&](const Device& device) { return device.address.ends_with(bus); });
  };
  const auto nearness = nearness_of(*at(one), *at(other), slots.numa_nodes);
  return nearness ? std::string(name_of(*nearness)) : "?";
}

std::vector<std::string> nearest_names(const Slots& slots, std::size_t gpu) {
  std::vector<std::string> names;
  if (const auto nearest = nearest_to(slots, gpu)) {
    for (const std::size_t number : nearest->devices) {
      names.push_back(label_of(slots.devices[number]));
    }
  }
  return names;
}

TEST(Affinity, ASwitchIsOneBridgeAndASwitchBelowItSeveral) {
  const Slots slots = slots_in("pcie-switch");
  ASSERT_EQ(slots.devices.size(), 5U);
  EXPECT_EQ(between(slots, "af:00.0", "b0:00.0"), "PIX");
  EXPECT_EQ(between(slots, "af:00.0", "b1:00.0"), "PIX");
  EXPECT_EQ(between(slots, "af:00.0", "b4:00.0"), "PXB");
  EXPECT_EQ(between(slots, "b4:00.0", "af:00.0"), "PXB");
  EXPECT_EQ(between(slots, "af:00.0", "c1:00.0"), "PHB");
  EXPECT_EQ(between(slots, "af:00.0", "af:00.0"), "X");
}

TEST(Affinity, TwoSocketsAreFarFromEachOther) {
  const Slots slots = slots_in("pcie-two-sockets");
  EXPECT_EQ(between(slots, "af:00.0", "c1:00.0"), "NODE");
  EXPECT_EQ(between(slots, "af:00.0", "b0:00.0"), "SYS");
  EXPECT_EQ(between(slots, "b0:00.0", "c1:00.0"), "SYS");
}

TEST(Affinity, AVirtualMachineWithoutBridgesHasOneHostBridge) {
  const Slots slots = slots_in("pcie-vm");
  EXPECT_EQ(between(slots, "05.0", "06.0"), "PHB");
  EXPECT_EQ(between(slots, "05.0", "07.0"), "PHB");
}

TEST(Affinity, TwoFunctionsOfACardAreOne) {
  const Device one{.address = "0000:3b:00.0"};
  const Device other{.address = "0000:3b:00.1"};
  EXPECT_EQ(nearness_of(one, other, 2), Nearness::Same);
}

TEST(Affinity, IsNotKnownBetweenHostBridgesOfNodesThatNobodyNames) {
  const Device one{.address = "0000:3b:00.0",
                   .pci = {.path = {{.address = "0000:3a:00.0"}, {.address = "0000:3b:00.0"}}}};
  const Device other{.address = "0000:5b:00.0",
                     .pci = {.path = {{.address = "0000:5a:00.0"}, {.address = "0000:5b:00.0"}}}};
  EXPECT_EQ(nearness_of(one, other, 2), std::nullopt);
  EXPECT_EQ(nearness_of(one, other, 1), Nearness::Node);
}

TEST(Affinity, IsNotKnownOfWhatSysfsDoesNotShow) {
  const Device one{.address = "0000:3b:00.0"};
  const Device other{.address = "0000:5b:00.0"};
  EXPECT_EQ(nearness_of(one, other, 1), std::nullopt);
}

TEST(Affinity, EveryPairIsThereOnce) {
  const Slots slots = slots_in("pcie-switch");
  const auto pairs = affinity_of(slots);
  EXPECT_EQ(pairs.size(), 10U);
  EXPECT_TRUE(std::ranges::all_of(
      pairs, [](const Affinity& pair) { return pair.one < pair.other && pair.nearness; }));
}

TEST(Nearest, IsTheCardBelowTheSameSwitch) {
  const Slots slots = slots_in("pcie-switch");
  EXPECT_THAT(nearest_names(slots, 0), ElementsAre("ens1np0"));
  EXPECT_EQ(nearest_to(slots, 2)->nearness, Nearness::Pxb);
}

TEST(Nearest, IsAnotherCardWhereThatOneIsDown) {
  const auto tree = fakes::HostTree::from_fixture("pcie-switch");
  const std::string folder =
      "/sys/devices/pci0000:a0/0000:a0:01.0/0000:a1:00.0/0000:a2:02.0/0000:b1:00.0/net/ens1np0/";
  tree.write(folder + "carrier", "0");
  tree.write(folder + "operstate", "down");
  EXPECT_THAT(nearest_names(slots_of(tree), 0), ElementsAre("eth0"));
}

TEST(Slots, ACardsInterfaceAndItsRdmaDeviceAreOneDevice) {
  const Slots slots = slots_in("rdma-mlx5");
  ASSERT_EQ(slots.devices.size(), 1U);
  EXPECT_EQ(slots.devices[0].kind, Kind::Nic);
  EXPECT_THAT(slots.devices[0].names, ElementsAre("enp59s0np0", "mlx5_0"));
  EXPECT_EQ(slots.devices[0].line_rate_mbps, 100'000);
}

TEST(Slots, AGpuHasTheNameAndTheLinkThatItsDriverTells) {
  const Slots slots = slots_in("gpu-gen2-load");
  ASSERT_EQ(slots.devices.size(), 1U);
  EXPECT_EQ(slots.devices[0].kind, Kind::Gpu);
  EXPECT_EQ(label_of(slots.devices[0]), "NVIDIA A100-PCIE-40GB");
  EXPECT_EQ(slots.devices[0].link, (host::PciLink{.speed_gts = 5, .width = 16}));
  EXPECT_EQ(slots.devices[0].possible, (host::PciLink{.speed_gts = 16, .width = 16}));
}

}  // namespace
}  // namespace chokepoint::probe::pcie
