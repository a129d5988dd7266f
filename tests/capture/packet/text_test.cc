#include <gtest/gtest.h>

#include "capture/packet/address_text.h"
#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

TEST(Text, AnAddressReadIsTheOneInPackets) {
  const Packet ipv4 =
      decoded(fakes::FrameBuilder().ethernet().ipv4({.source = "10.1.2.3"}).udp().build());
  const Packet ipv6 =
      decoded(fakes::FrameBuilder().ethernet().ipv6({.source = "fd77::1"}).udp().build());
  EXPECT_EQ(parse_address("10.1.2.3"), (IpAddress{ipv4.ends.source, false}));
  EXPECT_EQ(parse_address("fd77::1"), (IpAddress{ipv6.ends.source, true}));
}

TEST(Text, AnAddressIsWrittenAsItWasRead) {
  for (const char* text : {"0.0.0.0", "255.255.255.255", "10.0.0.1", "::", "::1", "fd77::1"}) {
    const auto parsed = parse_address(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(text_of(parsed->address, parsed->is_ipv6), text);
  }
}

TEST(Text, WhatIsNoAddressIsRefused) { EXPECT_FALSE(parse_address("10.0.0")); }

}  // namespace
}  // namespace chokepoint::capture::packet
