#include "base/host/pci_link.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace chokepoint::host
