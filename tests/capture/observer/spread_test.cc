#include "capture/observer/spread.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace chokepoint::capture::observer {
namespace {

packet::Packet packet_of(std::uint64_t from, std::uint64_t to, std::uint16_t from_port,
                         std::uint16_t to_port) {
  packet::Packet packet;
  packet.kind = packet::Kind::Tcp;
  packet.ends.source.words = {0, from};
  packet.ends.destination.words = {0, to};
  packet.ends.source_port = from_port;
  packet.ends.destination_port = to_port;
  return packet;
}

TEST(Spread, BothDirectionsBelongTogether) {
  for (std::uint16_t port = 1; port < 1'000; ++port) {
    EXPECT_EQ(spread(packet_of(5, 6, port, 80), 7), spread(packet_of(6, 5, 80, port), 7));
  }
}

TEST(Spread, FlowsBetweenTwoHostsAreSpreadEvenly) {
  std::array<int, 4> counts{};
  for (std::uint16_t port = 0; port < 4'000; ++port) {
    ++counts.at(spread(packet_of(5, 6, port, 80), counts.size()));
  }
  for (const int count : counts) {
    EXPECT_NEAR(count, 1'000, 250);
  }
}

TEST(Spread, OfRoceOnlyTheHostsCount) {
  packet::Packet there = packet_of(5, 6, 49'152, 4'791);
  packet::Packet back = packet_of(6, 5, 50'000, 4'791);
  there.kind = back.kind = packet::Kind::Roce;
  EXPECT_EQ(spread(there, 5), spread(back, 5));
}

}  // namespace
}  // namespace chokepoint::capture::observer
