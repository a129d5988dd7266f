// The head of iperf3's UDP datagrams, and the pair of messages that opens a UDP stream.
//
//   0        4          8             12 (or 16)
//   │seconds │ microsec │ sequence    │ anything      big-endian; the sequence begins with 1 and is
//                                                     64 bits wide where both sides agreed on it
//
// The time is the sender's monotonic clock: good for jitter, not for a one-way delay. Pure
// functions on the caller's buffer, fit for the hot path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace chokepoint::probe::iperf3 {

struct DatagramHead {
  std::uint32_t seconds = 0;
  std::uint32_t microseconds = 0;
  std::uint64_t sequence = 0;

  bool operator==(const DatagramHead&) const = default;
};

constexpr std::size_t head_bytes(bool wide) { return wide ? 16 : 12; }

// `into` has room for the head.
void encode(const DatagramHead& head, bool wide, std::span<std::byte> into);
// Nothing where the datagram is too short to hold a head.
std::optional<DatagramHead> decode_head(std::span<const std::byte> datagram, bool wide);

inline constexpr std::size_t kGreetingBytes = 4;

// What a client opens a UDP stream with, today's and the one of versions before 3.11 or so.
std::span<const std::byte, kGreetingBytes> greeting();
// The server's answer to this greeting; nothing where it is none.
std::optional<std::span<const std::byte, kGreetingBytes>> answer_to(std::span<const std::byte> got);
bool is_answer(std::span<const std::byte> datagram);

}  // namespace chokepoint::probe::iperf3
