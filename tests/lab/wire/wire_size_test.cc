#include "tests/lab/wire/wire_size.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/lab/wire/virtio_header.h"

namespace chokepoint::lab {
namespace {

constexpr std::size_t kEthernetAndIp = 34;

// A frame as a TAP device hands it out, its TCP header 32 bytes long.
std::vector<std::byte> frame(std::size_t bytes, std::uint8_t kind, std::uint16_t segment_bytes) {
  std::vector<std::byte> data(sizeof(VirtioHeader) + bytes);
  VirtioHeader header{};
  header.gso_type = kind;
  header.gso_size = segment_bytes;
  header.csum_start = kEthernetAndIp;
  std::memcpy(data.data(), &header, sizeof header);
  if (bytes > kEthernetAndIp + 12) {
    data[sizeof header + kEthernetAndIp + 12] = std::byte{0x80};
  }
  return data;
}

TEST(WireSize, APlainFrameIsItself) {
  const auto size = wire_size(frame(1514, kGsoNone, 0));
  EXPECT_EQ(size.bytes, 1514U);
  EXPECT_EQ(size.packets, 1U);
}

TEST(WireSize, ASuperFrameIsItsSegmentsEachWithHeaders) {
  const auto size = wire_size(frame(66 + 3 * 1448 + 100, kGsoTcp4, 1448));
  EXPECT_EQ(size.packets, 4U);
  EXPECT_EQ(size.bytes, 4 * 66 + 3 * 1448 + 100U);
}

TEST(WireSize, TheEcnFlagIsNoKindOfItsOwn) {
  const auto kind = kGsoTcp6 | kGsoEcnFlag;
  EXPECT_EQ(wire_size(frame(66 + 2 * 1448, static_cast<std::uint8_t>(kind), 1448)).packets, 2U);
}

TEST(WireSize, UdpSegmentsHaveEightBytesOfHeader) {
  const auto size = wire_size(frame(42 + 10 * 1472, kGsoUdpSegments, 1472));
  EXPECT_EQ(size.packets, 10U);
  EXPECT_EQ(size.bytes, 10 * 1514U);
}

TEST(WireSize, NonsenseIsAFrameOfItsOwnLength) {
  EXPECT_EQ(wire_size({}).bytes, 0U);
  EXPECT_EQ(wire_size(frame(40, kGsoTcp4, 1448)).bytes, 40U);
  EXPECT_EQ(wire_size(frame(40, kGsoTcp4, 1448)).packets, 1U);
}

}  // namespace
}  // namespace chokepoint::lab
