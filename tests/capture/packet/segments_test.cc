// Frames that stand for several segments on the wire: packet.h through the decoder.
#include <gtest/gtest.h>

#include "capture/packet/packet.h"
#include "tests/capture/packet/decoded.h"

namespace chokepoint::capture::packet {
namespace {

Packet of_payload(std::size_t bytes) {
  return decoded(fakes::FrameBuilder().ethernet().ipv4().tcp().payload(bytes).build());
}

TEST(Segments, ASuperFrameIsCountedAsItsSegmentsOnTheWire) {
  constexpr std::uint32_t kHeaders = 54;
  const OnTheWire wire = on_the_wire(of_payload(3'001), 1'000);
  EXPECT_EQ(wire.segments, 4);
  EXPECT_EQ(wire.bytes, 3'001 + 4 * kHeaders);
  EXPECT_EQ(on_the_wire(of_payload(3'000), 1'000).segments, 3);
}

TEST(Segments, AFrameThatFitsIsTakenAsItIs) {
  for (const std::uint32_t payload : {0U, 1U, 1'000U}) {
    EXPECT_EQ(on_the_wire(of_payload(payload), 1'000).segments, 1);
    EXPECT_EQ(on_the_wire(of_payload(payload), 1'000).bytes, 54 + payload);
  }
  EXPECT_EQ(on_the_wire(of_payload(9'000), 0).segments, 1);
}

}  // namespace
}  // namespace chokepoint::capture::packet
