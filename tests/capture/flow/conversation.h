// A scripted TCP conversation for the tests of capture/flow: packets with times, IP IDs and
// timestamps as real hosts would give them, handed straight to an engine.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "capture/flow/engine.h"

namespace chokepoint::capture::flow {

constexpr std::uint32_t kFull = 1'460;  // payload of a full segment, in bytes

struct Side {
  std::uint32_t initial_sequence = 0;
  std::uint16_t port = 0;
  std::uint16_t ip_id = 0;
  std::uint8_t window_scale = 7;
  std::uint16_t window = 512;
  bool has_ip_ids = true;
};

class Conversation {
 public:
  explicit Conversation(const Limits& limits = {}) : engine(limits) {}

  Engine engine;
  Side client{.initial_sequence = 1'000, .port = 40'000, .ip_id = 100};
  Side server{.initial_sequence = 77'000, .port = 5'201, .ip_id = 9'000};
  std::uint16_t mss = kFull;
  bool has_timestamps = false;
  bool is_ipv6 = false;
  std::uint32_t interface = 0;
  std::int64_t now_ns = 1'000'000'000'000;

  void wait_us(std::int64_t us) { now_ns += us * 1'000; }

  void handshake(std::int64_t round_trip_us = 100);
  // Data of the client from this offset on. A super-frame where it is larger than the MSS.
  Seen data(std::uint32_t offset, std::uint32_t bytes = kFull);
  // The server has all below this offset, and the blocks beyond it.
  Seen ack(std::uint32_t offset,
           std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> blocks = {});
  Seen reply(std::uint32_t offset, std::uint32_t bytes);

  packet::Packet packet_of(const Side& from, const Side& to, std::uint32_t bytes) const;
  packet::Packet data_packet(std::uint32_t offset, std::uint32_t bytes);
  packet::Packet ack_packet(std::uint32_t offset);
  // Now, on this interface.
  Seen take(const packet::Packet& packet);

  FlowFacts facts() const;  // of the newest flow
  DirectionFacts sent() const { return facts().directions[0]; }
  DirectionFacts answered() const { return facts().directions[1]; }
};

}  // namespace chokepoint::capture::flow
