// A direction's own packets: new data, holes, what fills them, and what was sent before. Each byte
// sent is one of these:
//
//        acked            next
//   ───────┼────────────────┼────────▶ position
//    acknowledged │ outstanding │ new
//
//   at next            new
//   beyond next        new, and a hole opens before it
//   below next, in a hole       overtaken by others (out of order), or sent again because its first
//                               sending was lost before the tap
//   below next, seen before     a copy of the same packet, or sent again
//
// Changes one half; knows nothing of the flow's table. One thread.
#pragma once

#include <cstdint>

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

// A packet of `half`, and what is worked out about it once.
struct Segment {
  const packet::Packet& packet;
  Range range{};              // SYN and FIN take a position each
  std::uint32_t on_wire = 1;  // segments that the wire carried
  Position payload_begin = 0;
};

// Data, SYN or FIN: range is not empty. Returns how many bytes of the range were new here.
Position take_data(Half& half, const Half& other, const Segment& segment, const Keeping& keeping);

}  // namespace chokepoint::capture::flow
