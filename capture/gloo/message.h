// A message of Gloo's as the wire showed it. What Gloo does to move one buffer, R the receiver and
// S the sender of it, on one connection:
//
//   S ── send-ready ────▶ R    at once, when S's code comes to it
//   S ◀── receive-ready ── R   at once, when R's code comes to it: R's credit
//   S ── buffer ────────▶ R    as soon as S has both
//
// Values.
#pragma once

#include <cstdint>

namespace chokepoint::capture::gloo {

enum class Kind : std::uint8_t {
  Unknown = 0,  // its header was not captured
  Gather = 1,
  AllGather = 2,
  Reduce = 3,
  AllReduce = 4,
  Scatter = 5,
  Broadcast = 6,
  Barrier = 7,
  AllToAll = 8,
  PointToPoint = 9,  // no prefix on the wire: send() and receive()
};

enum class Opcode : std::uint8_t {
  Buffer = 0,
  UnboundBuffer = 1,
  SendReady = 2,
  ReceiveReady = 3,
};

// A message that passed, or as much of it as did.
struct Message {
  Kind kind = Kind::Unknown;
  Opcode opcode = Opcode::Buffer;
  std::uint32_t tag = 0;              // PyTorch's count of collectives in the process group
  std::uint32_t delta = 0;            // the low 24 bits of the slot
  std::uint64_t payload_bytes = 0;    // of an unknown one all that passed, headers included
  std::uint64_t announced_bytes = 0;  // of a ready message: what is to come, or may
  std::int64_t first_byte_ns = 0;
  std::int64_t last_byte_ns = 0;
  bool is_whole = false;  // the end was seen
};

inline bool is_ready_message(const Message& message) {
  return message.kind != Kind::Unknown &&
         (message.opcode == Opcode::SendReady || message.opcode == Opcode::ReceiveReady);
}

}  // namespace chokepoint::capture::gloo
