#include "base/host/pci.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(PciLink, ReadsBothSpellingsOfASpeed) {
  EXPECT_EQ(parse_pci_speed("16 GT/s"), 16);
  EXPECT_EQ(parse_pci_speed("16.0 GT/s PCIe"), 16);
  EXPECT_EQ(parse_pci_speed("2.5 GT/s PCIe"), 2.5);
  EXPECT_EQ(parse_pci_speed("Unknown"), std::nullopt);
  EXPECT_EQ(parse_pci_speed("Unknown speed"), std::nullopt);
  EXPECT_EQ(parse_pci_speed(""), std::nullopt);
  EXPECT_EQ(parse_pci_speed("16"), std::nullopt);
  EXPECT_EQ(parse_pci_speed("nan GT/s"), std::nullopt);
  EXPECT_EQ(parse_pci_speed("inf GT/s"), std::nullopt);
  EXPECT_EQ(parse_pci_speed("-8 GT/s"), std::nullopt);
}

struct Row {
  double speed_gts;
  int payload_bytes;
  double gigabytes;  // a second over 16 lanes
};

// The published figures for x16 at payloads of 128, 256 and 512 bytes.
TEST(PciLink, CeilingsAreThoseOfTheTable) {
  for (const Row& row : {Row{8, 128, 13.3}, Row{8, 256, 14.4}, Row{8, 512, 15.1},
                         Row{16, 128, 26.5}, Row{16, 256, 28.8}, Row{16, 512, 30.1},
                         Row{32, 128, 53.1}, Row{32, 256, 57.6}, Row{32, 512, 60.2}}) {
    EXPECT_NEAR(ceiling_mbps(row.speed_gts, 16, row.payload_bytes) / 8000, row.gigabytes, 0.1)
        << row.speed_gts << " GT/s, " << row.payload_bytes << " bytes";
  }
}

TEST(PciLink, OldGenerationsLoseAFifthToEncoding) {
  EXPECT_NEAR(ceiling_mbps(5, 8, 256), 40'000 * 0.8 * 256 / 280, 1);
}

TEST(PciLink, WhatBothEndsCanDoIsTheLesserOfEach) {
  const PciLink both = common({.speed_gts = 8, .width = 16}, {.speed_gts = 16, .width = 8});
  EXPECT_EQ(both, (PciLink{.speed_gts = 8, .width = 8}));
  EXPECT_EQ(common({.speed_gts = 8}, {.width = 4}), (PciLink{.speed_gts = 8, .width = 4}));
}

TEST(PciLink, WhatIsNotKnownIsNotBelow) {
  EXPECT_TRUE(is_below({.speed_gts = 8, .width = 8}, {.speed_gts = 8, .width = 16}));
  EXPECT_TRUE(is_below({.speed_gts = 8, .width = 8}, {.speed_gts = 16, .width = 8}));
  EXPECT_FALSE(is_below({.speed_gts = 16, .width = 8}, {.speed_gts = 16, .width = 8}));
  EXPECT_FALSE(is_below({}, {.speed_gts = 16, .width = 8}));
}

// Power management at 0x40, then MSI at 0x50, then PCI Express at 0x70.
std::string config_with(unsigned char device_control) {
  std::string config(256, '\0');
  config[0x06] = 0x10;
  config[0x34] = 0x40;
  config[0x40] = 0x01;
  config[0x41] = 0x50;
  config[0x50] = 0x05;
  config[0x51] = 0x70;
  config[0x70] = 0x10;
  config[0x78] = static_cast<char>(device_control);
  return config;
}

TEST(PciConfig, FindsThePayloadThroughTheCapabilityList) {
  EXPECT_EQ(max_payload_bytes(config_with(0x0f)), 128);
  EXPECT_EQ(max_payload_bytes(config_with(0x2f)), 256);
  EXPECT_EQ(max_payload_bytes(config_with(0x50)), 512);
}

TEST(PciConfig, AReservedPayloadIsNotKnown) {
  EXPECT_EQ(max_payload_bytes(config_with(0xc0)), std::nullopt);
}

TEST(PciConfig, TheFirst64BytesTellNothing) {
  EXPECT_EQ(max_payload_bytes(config_with(0x20).substr(0, 64)), std::nullopt);
  EXPECT_EQ(max_payload_bytes(""), std::nullopt);
}

TEST(PciConfig, AListCutShortAfterItsCapabilityTellsNothing) {
  EXPECT_EQ(max_payload_bytes(config_with(0x20).substr(0, 0x78)), std::nullopt);
}

TEST(PciConfig, AListThatRunsInACircleEnds) {
  std::string config = config_with(0x20);
  config[0x51] = 0x40;
  EXPECT_EQ(max_payload_bytes(config), std::nullopt);
}

TEST(PciConfig, ADeviceWithoutCapabilitiesHasNone) {
  std::string config = config_with(0x20);
  config[0x06] = 0;
  EXPECT_EQ(max_payload_bytes(config), std::nullopt);
}

// Extended capabilities: an error report, behind it ACS with this control.
std::string config_with_acs(unsigned char control) {
  std::string config(4096, '\0');
  config.replace(0x100, 4, {0x01, 0x00, 0x01, 0x15});  // the next one at 0x150
  config.replace(0x150, 4, {0x0d, 0x00, 0x01, 0x00});
  config[0x156] = static_cast<char>(control);
  return config;
}

TEST(AccessControl, RedirectsByItsTwoBits) {
  EXPECT_EQ(redirects_peers(config_with_acs(0x1d)), true);
  EXPECT_EQ(redirects_peers(config_with_acs(0x04)), true);
  EXPECT_EQ(redirects_peers(config_with_acs(0x08)), true);
  EXPECT_EQ(redirects_peers(config_with_acs(0x11)), false) << "validation and upstream alone";
}

TEST(AccessControl, IsNotKnownOfWhatMayNotBeRead) {
  EXPECT_EQ(redirects_peers(config_with_acs(0x1d).substr(0, 64)), std::nullopt);
  EXPECT_EQ(redirects_peers(config_with_acs(0x1d).substr(0, 0x156)), std::nullopt);
  EXPECT_EQ(redirects_peers(std::string(4096, '\0')), false) << "a bridge without it";
}

TEST(AccessControl, EndsWhereCapabilitiesRunInACircle) {
  std::string config = config_with_acs(0x1d);
  config.replace(0x100, 4, {0x01, 0x00, 0x01, 0x10});  // the next one is itself
  EXPECT_EQ(redirects_peers(config), false);
}

using testing::ElementsAre;

std::vector<std::string> addresses(const PciDevice& device) {
  std::vector<std::string> names;
  for (const PciHop& hop : device.path) {
    names.push_back(hop.address);
  }
  return names;
}

TEST(Pci, ReadsACardAndThePathAboveIt) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const auto device = read_pci_device(tree.root(), "0000:03:00.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->vendor, "0x8086");
  EXPECT_EQ(device->device, "0x1592");
  EXPECT_EQ(device->class_code, "0x020000");
  EXPECT_EQ(device->driver, "ice");
  EXPECT_EQ(device->numa_node, 0);
  EXPECT_EQ(device->local_cpus, "0,2,4,6,8,10,12,14");
  EXPECT_THAT(addresses(*device), ElementsAre("0000:00:02.0", "0000:03:00.0"));
  const PciHop& card = device->path.back();
  EXPECT_EQ(card.current, (PciLink{.speed_gts = 8, .width = 8}));
  EXPECT_EQ(card.maximum, (PciLink{.speed_gts = 16, .width = 16}));
  EXPECT_EQ(card.possible, (PciLink{.speed_gts = 8, .width = 8}));
  EXPECT_EQ(card.errors.correctable, 0);
}

TEST(Pci, TheNarrowestHopIsFoundAboveTheCard) {
  const auto tree = fakes::HostTree::from_fixture("switch-x4");
  const auto device = read_pci_device(tree.root(), "0000:43:00.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->path.size(), 4);
  ASSERT_NE(narrowest_hop(*device), nullptr);
  EXPECT_EQ(narrowest_hop(*device)->address, "0000:41:00.0");
  EXPECT_NEAR(*ceiling_mbps(*device), 57'600, 50);
  EXPECT_EQ(device->path.front().errors.correctable, 4711);
}

// A configuration space whose device control says a payload of 128 bytes, 256 and so on.
std::string config_with_payload(int power) {
  std::string config(256, '\0');
  config[0x06] = 0x10;
  config[0x34] = 0x40;
  config[0x40] = 0x10;
  config[0x48] = static_cast<char>(power << 5);
  return config;
}

TEST(Pci, ThePayloadIsTheSmallestOfThePath) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const std::string folder = "/sys/devices/pci0000:00/0000:00:02.0/";
  tree.write(folder + "config", config_with_payload(1));
  tree.write(folder + "0000:03:00.0/config", config_with_payload(0));
  const auto device = read_pci_device(tree.root(), "0000:03:00.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(payload_of(*device), 128);
  EXPECT_NEAR(*ceiling_mbps(*device), 53'060, 50);
}

TEST(Pci, WhatIsNotThereIsNotKnown) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/bus/pci/devices/0000:00:03.0/vendor = 0x1af4\n"
      "/sys/bus/pci/devices/0000:00:03.0/numa_node = -1\n"
      "/sys/bus/pci/devices/0000:00:03.0/current_link_speed = Unknown\n"
      "/sys/bus/pci/devices/0000:00:03.0/current_link_width = 0\n");
  const auto device = read_pci_device(tree.root(), "0000:00:03.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->numa_node, std::nullopt);
  EXPECT_EQ(narrowest_hop(*device), nullptr);
  EXPECT_EQ(ceiling_mbps(*device), std::nullopt);
  EXPECT_EQ(payload_of(*device), std::nullopt);
  EXPECT_EQ(read_pci_device(tree.root(), "0000:00:04.0"), std::nullopt);
}

TEST(Pci, AVirtualFunctionIsReadWithItsPhysicalOnesPath) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const std::string folder = "/sys/devices/pci0000:00/0000:00:02.0/0000:03:01.0/";
  tree.link("/sys/bus/pci/devices/0000:03:01.0",
            "../../../devices/pci0000:00/0000:00:02.0/0000:03:01.0");
  tree.write(folder + "vendor", "0x8086\n");
  tree.link(folder + "physfn", "../0000:03:00.0");
  const auto device = read_pci_device(tree.root(), "0000:03:01.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(device->path.back().address, "0000:03:00.0");
}

TEST(Pci, AHypervisorsPortTellsNothingOfTheHardware) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const std::string port = "/sys/devices/pci0000:00/0000:00:02.0/";
  tree.write(port + "vendor", "0x1b36\n");
  tree.write(port + "current_link_speed", "2.5 GT/s PCIe\n");
  const auto device = read_pci_device(tree.root(), "0000:03:00.0");
  ASSERT_TRUE(device);
  EXPECT_EQ(narrowest_hop(*device)->address, "0000:03:00.0");
  EXPECT_EQ(device->path.back().possible, (PciLink{.speed_gts = 16, .width = 16}));
}

TEST(Pci, BehindAHypervisorsPortThePayloadIsNotKnown) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const std::string folder = "/sys/devices/pci0000:00/0000:00:02.0/";
  tree.write(folder + "0000:03:00.0/config", config_with_payload(0));
  ASSERT_EQ(payload_of(*read_pci_device(tree.root(), "0000:03:00.0")), 128);
  tree.write(folder + "vendor", "0x1b36\n");
  EXPECT_FALSE(payload_of(*read_pci_device(tree.root(), "0000:03:00.0")));
}

TEST(Pci, FindsTheDeviceInAResolvedPath) {
  EXPECT_EQ(pci_address_in("/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0"),
            "0000:00:03.0");
  EXPECT_EQ(pci_address_in("/sys/devices/pci10000:00/10000:00:02.0/10000:01:00.0"),
            "10000:01:00.0");
  EXPECT_EQ(pci_address_in("/sys/devices/virtual/net/lo"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
