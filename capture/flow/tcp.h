// The rules for one TCP packet of a known flow. They update both halves; called by the engine, on
// its thread.
//
//   tcp.cc        SYN, RST, keep-alives and probes, window limits; what the packet says about the
//                 other side's stream: acknowledgement, SACK, window
//   tcp_data.cc   what it sends: new data, holes, retransmissions
//
//   half  ── data ──▶ tap ──▶ other side
//   half  ◀────────── tap ◀── acknowledgement: half.acked, half.edge, half.loss->sacked, half.rtt
#pragma once

#include <cstdint>

#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

// Where the payload lies in its stream, and how much of it was seen before.
struct Placed {
  Position offset = 0;
  std::uint32_t new_from = 0;
  bool is_copy = false;  // the very same packet was seen before
};

// `half` sent the packet; it and `other` are the flow's halves.
Placed take_tcp(Flow& flow, Half& half, Half& other, const packet::Packet& packet,
                const Keeping& keeping);

// The packet opens another connection between the same ends, or belongs to one. Only possible for a
// SYN, or after the end of this connection.
bool is_of_another(const Flow& flow, unsigned direction, const packet::Packet& packet);

inline bool begins_another(const Flow& flow, unsigned direction, const packet::Packet& packet) {
  return (packet.tcp.has(packet::kSyn) || flow.is_closed()) &&
         is_of_another(flow, direction, packet);
}

// Where the payload begins in the range of a packet, in which a SYN is the first.
inline Position payload_begin(const packet::Packet& packet, Range range) {
  return range.begin + (packet.tcp.has(packet::kSyn) ? 1 : 0);
}

// What a packet was.
struct Taken {
  Position fresh = 0;    // so many of its positions were not seen before
  bool is_copy = false;  // the very same packet was seen before
};

// Data, SYN or FIN, which take a position each: the range is not empty.
//
//        acked            next
//   ───────┼────────────────┼────────▶ position
//    acknowledged │ outstanding │ new
//
//   at next                   new
//   beyond next               new, and a hole opens before it
//   below next, in a hole     overtaken by others (out of order), or retransmitted because the
//   first
//                             transmission was lost before the tap
//   below next, seen before   a copy of the same packet, or retransmitted
Taken take_data(Half& half, const Half& other, const packet::Packet& packet, Range range,
                const Keeping& keeping);

// `packet` came from `from`, has the ACK flag, and acknowledges what `half` sent. True if it
// changed what is outstanding, or the window.
bool take_answer(Half& half, Half& from, const packet::Packet& packet, const Keeping& keeping);

}  // namespace chokepoint::capture::flow
