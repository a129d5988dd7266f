// What a UDP probe puts into a datagram. All numbers are big-endian; nothing in a packet is trusted
// to be a length. Pure functions.
//
//    0   magic "CKPU"                       u32
//    4   kind, stream                       u8 u8
//    6   run: which trial of the test       u16
//    8   test id, drawn by the server       u64
//   16   sequence, from 0 in each run       u64
//   24   send time, ns, sender's clock      u64
//   32   Data:           padding up to the size agreed upon
//        Hello, Welcome: a secret           32 bytes
//        Ping, Pong:     when the ping came and when the pong went, ns, the answerer's clock
//                                           u64 u64
//
// Everything but Data is kExchangeBytes long, so that no answer is larger than what it answers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/control/handshake.h"

namespace chokepoint::probe::udp {

inline constexpr std::uint32_t kMagic = 0x434b5055;
inline constexpr std::size_t kHeadBytes = 32;
inline constexpr std::size_t kExchangeBytes = 64;
// What fits into a datagram over IPv4; IPv6 leaves a few bytes less of the kernel's.
inline constexpr std::size_t kMostPacketBytes = 65'507;

enum class PacketKind : std::uint8_t { Hello = 1, Welcome = 2, Data = 3, Ping = 4, Pong = 5 };

struct PacketHead {
  PacketKind kind = PacketKind::Data;
  std::uint8_t stream = 0;
  std::uint16_t run = 0;
  std::uint64_t test = 0;
  std::uint64_t sequence = 0;
  std::int64_t sent_ns = 0;
  bool operator==(const PacketHead&) const = default;
};

// What a client and a server prove to have received.
using control::Secret;

namespace wire {

template <class T>
void put(std::byte* at, T value) {
  if constexpr (std::endian::native == std::endian::little) {
    value = std::byteswap(value);
  }
  std::memcpy(at, &value, sizeof(value));
}

template <class T>
T get(const std::byte* at) {
  T value{};
  std::memcpy(&value, at, sizeof(value));
  return std::endian::native == std::endian::little ? std::byteswap(value) : value;
}

inline constexpr std::size_t kSequenceAt = 16;
inline constexpr std::size_t kSentAt = 24;

}  // namespace wire

// Into at least kHeadBytes.
void write_head(const PacketHead& head, std::span<std::byte> into);
// What changes from one packet of a stream to the next, in a packet that has its head already.
inline void restamp(std::byte* packet, std::uint64_t sequence, std::int64_t sent_ns) {
  wire::put(packet + wire::kSequenceAt, sequence);
  wire::put(packet + wire::kSentAt, static_cast<std::uint64_t>(sent_ns));
}

// Nothing where it is no packet of a probe.
std::optional<PacketHead> read_head(std::span<const std::byte> packet);

using ExchangePacket = std::array<std::byte, kExchangeBytes>;

struct PongTimes {
  std::int64_t received_ns = 0;
  std::int64_t answered_ns = 0;
};

ExchangePacket secret_packet(const PacketHead& head, const Secret& secret);
std::optional<Secret> secret_of(std::span<const std::byte> packet);

ExchangePacket ping_packet(const PacketHead& head);
// The ping's head comes back in it, so the asker knows its own send time again.
ExchangePacket pong_packet(const PacketHead& ping, const PongTimes& times);
std::optional<PongTimes> pong_times(std::span<const std::byte> packet);

}  // namespace chokepoint::probe::udp
