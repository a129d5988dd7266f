#include "base/net/ethtool.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/net/rtnetlink.h"

namespace chokepoint::net {
namespace {

TEST(Ethtool, AModesNameBeginsWithItsSpeed) {
  EXPECT_EQ(speed_of_mode("100000baseCR4/Full"), 100'000);
  EXPECT_EQ(speed_of_mode("10baseT1S_P2MP/Half"), 10);
  EXPECT_EQ(speed_of_mode("Autoneg"), 0);
  EXPECT_EQ(speed_of_mode("10000"), 0);
  EXPECT_EQ(speed_of_mode(""), 0);
}

TEST(Ethtool, AMissingInterfaceIsAnErrorThatNamesIt) {
  const auto ethtool = Ethtool::open();
  ASSERT_TRUE(ethtool);
  const auto driver = ethtool->driver("no-such-device");
  ASSERT_FALSE(driver);
  EXPECT_EQ(driver.error().kind, ErrorKind::NotFound);
  EXPECT_EQ(driver.error().subject, "no-such-device");
  EXPECT_FALSE(statistics(*ethtool, "no-such-device"));
}

TEST(Ethtool, LoopbackHasFeaturesAndNoRings) {
  const auto ethtool = Ethtool::open();
  ASSERT_TRUE(ethtool);
  const auto features = ethtool->features("lo");
  ASSERT_TRUE(features);
  // The kernel leaves the names of unused bits empty.
  EXPECT_TRUE(std::ranges::none_of(*features, &std::string::empty, &Feature::name));
  EXPECT_TRUE(std::ranges::any_of(*features, [](const Feature& feature) {
    return feature.name == "rx-gro" || feature.name == "tx-generic-segmentation";
  }));
  EXPECT_FALSE(ethtool->rings("lo"));
}

TEST(Rtnetlink, LoopbackHasItsAddress) {
  const auto addresses = dump_addresses();
  ASSERT_TRUE(addresses);
  bool found = false;
  for (const auto& [index, list] : *addresses) {
    for (const InterfaceAddress& address : list) {
      found |= address.address.is_loopback();
      EXPECT_GT(address.prefix, 0);
    }
  }
  EXPECT_TRUE(found);
}

TEST(Rtnetlink, QdiscsCanBeDumped) {
  const auto qdiscs = dump_qdiscs();
  ASSERT_TRUE(qdiscs);
  for (const auto& [index, kinds] : *qdiscs) {
    EXPECT_FALSE(kinds.empty());
  }
}

}  // namespace
}  // namespace chokepoint::net
