// Headers as Gloo writes them, made by hand.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/gloo/message.h"

namespace chokepoint::capture::gloo {

using Bytes = std::vector<std::uint8_t>;

// What a snapshot of 128 bytes leaves of the stream.
inline constexpr std::size_t kSnapshot = 62;

inline void append(Bytes& bytes, const Header& header) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&header);
  bytes.insert(bytes.end(), begin, begin + sizeof header);
}

inline Header header_of(Kind kind, std::uint32_t tag, Opcode opcode, std::uint64_t length) {
  Header header;
  const bool is_ready = opcode == Opcode::SendReady || opcode == Opcode::ReceiveReady;
  header.message_bytes = kHeaderBytes + (is_ready ? 0 : length);
  header.opcode = static_cast<std::uint64_t>(opcode);
  header.slot = std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | std::uint64_t{tag} << 24;
  header.length = length;
  return header;
}

}  // namespace chokepoint::capture::gloo
