// What begins each of Gloo's messages, and whether bytes can be one at all. The judgement is
// strict, since it is asked of tensors, too:
//
//   nbytes   48 + length for a buffer, 48 for a ready message; at most 64 GiB + 48
//   opcode   0 … 3
//   slot     prefix 1 … 8 << 56 | tag << 24 | delta below 256, or a number below 2^31 by itself
//   offset, length, roffset     sane for old buffers (opcode 0), 0, any and 0 for all others
//
// 48 random bytes pass with a probability below 2^-230; zeros never do. A slot without a prefix
// could be met among small integers, so where nothing else says that a message begins (is_sure) it
// has to have one. Pure functions.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "capture/gloo/message.h"

namespace chokepoint::capture::gloo {

inline constexpr std::size_t kHeaderBytes = 48;
// A stretch of so few whole headers held nothing else.
inline constexpr std::uint64_t kMostReadyBytes = 10 * kHeaderBytes;
inline constexpr std::uint64_t kMostPayloadBytes = std::uint64_t{1} << 36;

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

// PyTorch's send() and receive() have a bare tag of 31 bits for a slot; buffers of old-style
// algorithms a small number.
inline bool is_plausible_slot(const Header& header) {
  if (header.is_point_to_point()) {
    return header.slot < std::uint64_t{1} << 31;
  }
  return header.prefix() <= 8 && header.delta() < 256;
}

inline bool is_plausible(const Header& header) {
  if (header.opcode > 3 || header.length > kMostPayloadBytes || !is_plausible_slot(header)) {
    return false;
  }
  const bool is_ready = header.opcode >= 2;
  if (header.message_bytes != kHeaderBytes + (is_ready ? 0 : header.length)) {
    return false;
  }
  return header.opcode == 0
             ? header.offset <= kMostPayloadBytes && header.remote_offset <= kMostPayloadBytes
             : header.offset == 0 && header.remote_offset == 0;
}

// Nothing where they are too few, or no header.
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

// Says that a message begins here by itself, wherever the bytes come from.
inline bool is_sure(const Header& header) { return !header.is_point_to_point(); }

// The side that dials may begin with 8 bytes: the number of the connection that it means.
inline constexpr std::size_t kGreetingBytes = 8;

// Whether what stands at this offset of a stream begins as Gloo's messages do. Of other traffic it
// looks at one word.
inline bool looks_like_gloo(std::uint64_t offset, std::span<const std::uint8_t> captured) {
  if (captured.size() < kHeaderBytes) {
    return false;
  }
  std::uint64_t first = 0;
  std::memcpy(&first, captured.data(), sizeof first);
  if (first > kMostPayloadBytes + kHeaderBytes) {
    return false;
  }
  if (const auto header = read_header(captured)) {
    return offset == 0 || is_sure(*header);
  }
  return offset == 0 && read_header(captured.subspan(kGreetingBytes));
}

}  // namespace chokepoint::capture::gloo
