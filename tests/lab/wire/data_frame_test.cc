#include "tests/lab/wire/data_frame.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/lab/wire/virtio_header.h"

namespace chokepoint::lab {
namespace {

constexpr std::size_t kIp = sizeof(VirtioHeader) + 14;

std::vector<std::byte> made(std::uint16_t kind, std::size_t ip_bytes) {
  std::vector<std::byte> frame(kIp + ip_bytes);
  frame[kIp - 2] = std::byte(kind >> 8U);
  frame[kIp - 1] = std::byte(kind & 0xFFU);
  return frame;
}

std::vector<std::byte> ipv4(std::uint8_t protocol, std::size_t payload) {
  const std::size_t header = protocol == 6 ? 32 : 8;
  auto frame = made(0x0800, 20 + header + payload);
  frame[kIp] = std::byte{0x45};
  frame[kIp + 2] = std::byte((20 + header + payload) >> 8U);
  frame[kIp + 3] = std::byte((20 + header + payload) & 0xFFU);
  frame[kIp + 9] = std::byte{protocol};
  frame[kIp + 20 + (protocol == 6 ? 12 : 4)] = std::byte{0x80};
  return frame;
}

std::vector<std::byte> ipv6(std::size_t payload) {
  auto frame = made(0x86DD, 40 + 20 + payload);
  frame[kIp + 4] = std::byte((20 + payload) >> 8U);
  frame[kIp + 5] = std::byte((20 + payload) & 0xFFU);
  frame[kIp + 6] = std::byte{6};
  frame[kIp + 40 + 12] = std::byte{0x50};
  return frame;
}

TEST(DataFrame, IsASegmentOrADatagramWithPayload) {
  EXPECT_TRUE(carries_data(ipv4(6, 1)));
  EXPECT_TRUE(carries_data(ipv4(6, 1448)));
  EXPECT_TRUE(carries_data(ipv4(17, 1)));
  EXPECT_TRUE(carries_data(ipv6(1)));
}

TEST(DataFrame, IsNoBareAcknowledgementNorAnythingElse) {
  EXPECT_FALSE(carries_data(ipv4(6, 0)));
  EXPECT_FALSE(carries_data(ipv4(17, 0)));
  EXPECT_FALSE(carries_data(ipv4(1, 100)));
  EXPECT_FALSE(carries_data(ipv6(0)));
  EXPECT_FALSE(carries_data(made(0x0806, 28)));
}

TEST(DataFrame, EthernetPaddingIsNoPayload) {
  auto frame = ipv4(6, 0);
  frame.resize(frame.size() + 6);
  EXPECT_FALSE(carries_data(frame));
}

TEST(DataFrame, WhatIsCutShortIsNone) {
  const auto whole = ipv4(6, 100);
  for (std::size_t bytes = 0; bytes < kIp; ++bytes) {
    EXPECT_FALSE(carries_data(std::span(whole).first(bytes)));
  }
}

}  // namespace
}  // namespace chokepoint::lab
