#include "capture/packet/address_text.h"

#include <gtest/gtest.h>

#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

TEST(Text, AnAddressReadIsTheOneInPackets) {
  const Packet ipv4 =
      decoded(fakes::FrameBuilder().ethernet().ipv4({.source = "10.1.2.3"}).udp().build());
  const Packet ipv6 =
      decoded(fakes::FrameBuilder().ethernet().ipv6({.source = "fd77::1"}).udp().build());
  EXPECT_EQ(as_in_packets(net::Address::parse("10.1.2.3").value()), ipv4.ends.source);
  EXPECT_EQ(as_in_packets(net::Address::parse("fd77::1").value()), ipv6.ends.source);
}

TEST(Text, AnAddressIsWrittenAsItWasRead) {
  for (const char* text : {"0.0.0.0", "255.255.255.255", "10.0.0.1", "::", "::1", "fd77::1"}) {
    const net::Address parsed = net::Address::parse(text).value();
    EXPECT_EQ(text_of(as_in_packets(parsed), parsed.family() == net::Family::Ipv6), text);
  }
}

}  // namespace
}  // namespace chokepoint::capture::packet
