// Gloo's messages on the wire. To move one buffer from S to R on one connection, Gloo sends:
//
//   S ── send-ready ────▶ R    as soon as S's code reaches the operation
//   S ◀── receive-ready ── R   as soon as R's code reaches it: R's credit
//   S ── buffer ────────▶ R    as soon as S has both
//
// Each begins with a header of six u64. Values and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/json/fields.h"

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

// A message that passed, or the part of it that did.
struct Message {
  Kind kind = Kind::Unknown;
  Opcode opcode = Opcode::Buffer;
  std::uint32_t tag = 0;            // PyTorch's count of collectives in the process group
  std::uint32_t delta = 0;          // the low 24 bits of the slot
  std::uint64_t payload_bytes = 0;  // of an unknown one: all bytes, headers included
  std::uint64_t announced_bytes =
      0;  // of a ready message: size of the buffer to come, or its limit
  std::int64_t first_byte_ns = 0;
  std::int64_t last_byte_ns = 0;
  bool is_whole = false;  // the end was seen
};

inline bool is_ready_message(const Message& message) {
  return message.kind != Kind::Unknown &&
         (message.opcode == Opcode::SendReady || message.opcode == Opcode::ReceiveReady);
}

inline constexpr std::size_t kHeaderBytes = 48;
// A missed stretch of at most this many bytes, all whole headers, is assumed to be ready messages.
inline constexpr std::uint64_t kMaxReadyBytes = 10 * kHeaderBytes;
inline constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 36;

// As on the wire, in the byte order of x86-64 and ARM64.
struct Header {
  std::uint64_t message_bytes = 0;
  std::uint64_t opcode = 0;
  std::uint64_t slot = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t remote_offset = 0;

  std::uint8_t prefix() const { return static_cast<std::uint8_t>(slot >> 56); }
  std::uint32_t tag() const { return static_cast<std::uint32_t>(slot >> 24); }
  std::uint32_t delta() const { return static_cast<std::uint32_t>(slot & 0xffffff); }
  bool is_point_to_point() const { return prefix() == 0; }
};
static_assert(sizeof(Header) == kHeaderBytes);

// The slot of PyTorch's send() and receive() is a bare tag of 31 bits; buffers of old-style
// algorithms have a small number.
inline bool is_plausible_slot(const Header& header) {
  if (header.is_point_to_point()) {
    return header.slot < std::uint64_t{1} << 31;
  }
  return header.prefix() <= 8 && header.delta() < 256;
}

// Whether these bytes can be a header. The check is strict, because tensor data is checked, too:
//
//   nbytes   48 + length for a buffer, 48 for a ready message; at most 64 GiB + 48
//   opcode   0 … 3
//   slot     prefix 1 … 8 << 56 | tag << 24 | delta below 256, or a number below 2^31 by itself
//   offset, length, roffset     sane for old buffers (opcode 0), 0, any and 0 for all others
//
// 48 random bytes pass with a probability below 2^-230; zeros never do. A slot without a prefix
// could occur among small integers: see is_sure().
inline bool is_plausible(const Header& header) {
  if (header.opcode > 3 || header.length > kMaxPayloadBytes || !is_plausible_slot(header)) {
    return false;
  }
  const bool is_ready = header.opcode >= 2;
  if (header.message_bytes != kHeaderBytes + (is_ready ? 0 : header.length)) {
    return false;
  }
  return header.opcode == 0
             ? header.offset <= kMaxPayloadBytes && header.remote_offset <= kMaxPayloadBytes
             : header.offset == 0 && header.remote_offset == 0;
}

// nullopt if the bytes are too few, or no header.
inline std::optional<Header> read_header(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kHeaderBytes) {
    return std::nullopt;
  }
  Header header;
  std::memcpy(&header, bytes.data(), kHeaderBytes);
  if (!is_plausible(header)) {
    return std::nullopt;
  }
  return header;
}

// Proves by itself that a message begins here: no other bytes look like it.
inline bool is_sure(const Header& header) { return !header.is_point_to_point(); }

// The side that connects may first send 8 bytes, also in a segment of their own: the number of the
// connection that it wants.
inline constexpr std::size_t kGreetingBytes = 8;

// Whether the stream's first header may be here.
inline bool is_first_header(std::uint64_t offset) {
  return offset == 0 || offset == kGreetingBytes;
}

// Whether the bytes at this offset of a stream begin with a Gloo header. Other traffic is ruled out
// by its first word.
inline bool looks_like_gloo(std::uint64_t offset, std::span<const std::uint8_t> captured) {
  if (captured.size() < kHeaderBytes) {
    return false;
  }
  std::uint64_t first = 0;
  std::memcpy(&first, captured.data(), sizeof first);
  if (first > kMaxPayloadBytes + kHeaderBytes) {
    return false;
  }
  if (const auto header = read_header(captured)) {
    return is_first_header(offset) || is_sure(*header);
  }
  return offset == 0 && read_header(captured.subspan(kGreetingBytes));
}

}  // namespace chokepoint::capture::gloo

template <>
struct chokepoint::EnumNames<chokepoint::capture::gloo::Kind> {
  using enum capture::gloo::Kind;
  static constexpr std::string_view kWhat = "a kind of collective";
  static constexpr auto kNames =
      std::to_array<EnumName<capture::gloo::Kind>>({{Unknown, "unknown"},
                                                    {Gather, "gather"},
                                                    {AllGather, "all-gather"},
                                                    {Reduce, "reduce"},
                                                    {AllReduce, "all-reduce"},
                                                    {Scatter, "scatter"},
                                                    {Broadcast, "broadcast"},
                                                    {Barrier, "barrier"},
                                                    {AllToAll, "all-to-all"},
                                                    {PointToPoint, "point-to-point"}});
};
