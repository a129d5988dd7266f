// Which of several analysers a packet belongs to: both directions of a flow to the same.
// Connections of RoCE use another UDP port each way, so only their hosts count. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

// Symmetric: a sum does not tell source from destination.
inline std::size_t spread(const packet::Packet& packet, std::size_t analysers) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
  const packet::Ends& ends = packet.ends;
  std::uint64_t mixed = ends.source.words[0] + ends.destination.words[0];
  mixed = mixed * kGolden + ends.source.words[1] + ends.destination.words[1];
  if (packet.kind != packet::Kind::Roce) {
    mixed += std::uint64_t{ends.source_port} + ends.destination_port;
  }
  mixed *= kGolden;
  return static_cast<std::size_t>((mixed >> 32U) * analysers >> 32U);
}

}  // namespace chokepoint::capture::observer
