// What every packet adds to its direction, whatever the protocol: packets, bytes, marks. One
// thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "capture/flow/flow.h"
#include "capture/flow/made.h"
#include "capture/packet/segments.h"

namespace chokepoint::capture::flow {

inline constexpr std::uint8_t kCongestionExperienced = 3;

inline void count_volume(Half& half, const packet::Packet& packet, const Keeping& keeping) {
  const auto wire = packet::on_the_wire(packet, half.segment.bytes());
  Tally& tally = half.tally;
  tally.first_ns = tally.frames == 0 ? packet.time_ns : tally.first_ns;
  tally.last_ns = tally.frames == 0 ? packet.time_ns : std::max(tally.last_ns, packet.time_ns);
  const std::uint32_t marks = packet.congestion_bits == kCongestionExperienced ? 1 : 0;
  ++tally.frames;
  tally.packets += wire.segments;
  tally.bytes += wire.bytes;
  tally.frame_bytes += packet.frame_bytes;
  tally.payload_bytes += packet.payload_bytes;
  tally.congestion_marks += marks;
  if (keeping.series) {
    Bin& bin = made(half.series, keeping.budget).at(packet.time_ns);
    bin.packets += wire.segments;
    bin.bytes += wire.bytes;
    bin.payload_bytes += packet.payload_bytes;
    bin.congestion_marks += marks;
  }
}

}  // namespace chokepoint::capture::flow
