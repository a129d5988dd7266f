#include "base/host/pci_config.h"

#include <gtest/gtest.h>

#include <string>

namespace chokepoint::host {
namespace {

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

}  // namespace
}  // namespace chokepoint::host
