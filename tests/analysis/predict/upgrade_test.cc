#include <gtest/gtest.h>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

TEST(Upgrade, ReadsWhatPeopleWrite) {
  const Upgrade named = *parse_upgrade("5GbE=41000");
  EXPECT_EQ(named.name, "5GbE");
  EXPECT_EQ(named.rate.bits_per_second, 5e9);
  EXPECT_EQ(named.cost, 41'000);
  const Upgrade with_rate = *parse_upgrade("HDR switch:25GB/s=1.5e5");
  EXPECT_EQ(with_rate.name, "HDR switch");
  EXPECT_EQ(with_rate.rate.bits_per_second, 200e9);
  EXPECT_EQ(with_rate.cost, 150'000);
  EXPECT_EQ(parse_upgrade("2.5GbE=0")->rate.bits_per_second, 2.5e9);
  EXPECT_FALSE(named.nics);
  const Upgrade rails = *parse_upgrade("a NIC a GPU:2x10GbE=60000");
  EXPECT_EQ(rails.name, "a NIC a GPU");
  EXPECT_EQ(rails.nics, 2);
  EXPECT_EQ(rails.rate.bits_per_second, 10e9);
}

TEST(Upgrade, SaysWhatItCannotRead) {
  for (const char* text :
       {"", "5GbE", "=5", "5GbE=", "5GbE=x", "5GbE=-3", "HDR=3", "0G=3", "5GbE=inf", "a:b:c=3",
        "0x10G=3", "-1x10G=3", "2x=3", "x10G=3", "1e9x10G=3"}) {
    const auto upgrade = parse_upgrade(text);
    ASSERT_FALSE(upgrade) << text;
    EXPECT_EQ(upgrade.error().kind, ErrorKind::Usage);
    EXPECT_FALSE(upgrade.error().next_step.empty());
  }
}

TEST(Gain, MoneyForEachHour) {
  const Gain gain = gain_of({.cost = 1000}, 7200, 3600, 10, 25.0);
  EXPECT_EQ(gain.saved_s, 3600);
  EXPECT_EQ(*gain.cost_of_hour, 100);
  EXPECT_EQ(*gain.paid_back_after, 40);
}

TEST(Gain, WhatSavesNothingHasNoPrice) {
  const Gain gain = gain_of({.cost = 1000}, 3600, 7200, 10, 25.0);
  EXPECT_EQ(gain.saved_s, -3600);
  EXPECT_FALSE(gain.cost_of_hour);
  EXPECT_FALSE(gain.paid_back_after);
}

}  // namespace
}  // namespace chokepoint::analysis
