// The datagrams of a UDP probe. All numbers are big-endian; no length is ever read from a packet.
// Pure functions.
//
//    0   magic "CKPU"                       u32
//    4   kind, stream                       u8 u8
//    6   run: which trial of the test       u16
//    8   test id, drawn by the server       u64
//   16   sequence, from 0 in each run       u64
//   24   send time, ns, sender's clock      u64
//   32   Data:           padding up to the agreed size
//        Hello, Welcome: a secret           32 bytes
//        Ping, Pong:     when the ping arrived and when the pong left, ns, the answerer's clock
//                                           u64 u64
//
// All kinds but Data are kExchangeBytes long, so that no answer is larger than its request.
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

// Names a stream of packets: the test, one run of it, and the stream within the run.
struct FlowIdentity {
  std::uint64_t test = 0;
  std::uint16_t run = 0;
  std::uint8_t stream = 0;
};

inline constexpr std::uint32_t kMagic = 0x434b5055;
inline constexpr std::size_t kHeadBytes = 32;
inline constexpr std::size_t kExchangeBytes = 64;

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

// Proves that its sender has received an earlier packet.
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
// Writes what changes from one packet of a stream to the next, into a packet that has its head.
inline void restamp(std::byte* packet, std::uint64_t sequence, std::int64_t sent_ns) {
  wire::put(packet + wire::kSequenceAt, sequence);
  wire::put(packet + wire::kSentAt, static_cast<std::uint64_t>(sent_ns));
}

// nullopt where it is not a packet of a probe.
std::optional<PacketHead> read_head(std::span<const std::byte> packet);

using ExchangePacket = std::array<std::byte, kExchangeBytes>;

struct PongTimes {
  std::int64_t received_ns = 0;
  std::int64_t answered_ns = 0;
};

ExchangePacket secret_packet(const PacketHead& head, const Secret& secret);
std::optional<Secret> secret_of(std::span<const std::byte> packet);

ExchangePacket ping_packet(const PacketHead& head);
// It carries the ping's head, and with it the asker's own send time.
ExchangePacket pong_packet(const PacketHead& ping, const PongTimes& times);
std::optional<PongTimes> pong_times(std::span<const std::byte> packet);

// The difference of two times of which one comes from a packet and may have any value: it wraps,
// where signed arithmetic would be undefined.
constexpr std::int64_t difference(std::int64_t later_ns, std::int64_t earlier_ns) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(later_ns) -
                                   static_cast<std::uint64_t>(earlier_ns));
}

}  // namespace chokepoint::probe::udp
