// What identifies a flow: both ends, ordered so that both directions have the same key, and the
// protocol. The hash is keyed with a secret, so that a crafted capture cannot put all flows in one
// place. A value.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

struct Key {
  packet::Address low{};
  packet::Address high{};
  std::uint32_t ports = 0;  // of low, then of high
  std::uint32_t tunnel = 0;
  std::uint8_t protocol = 0;

  // Word by word: a call of memcmp() costs more than the comparison.
  bool operator==(const Key& other) const {
    const std::uint64_t differences =
        (low.words[0] ^ other.low.words[0]) | (low.words[1] ^ other.low.words[1]) |
        (high.words[0] ^ other.high.words[0]) | (high.words[1] ^ other.high.words[1]) |
        (ports ^ other.ports) | (tunnel ^ other.tunnel) |
        static_cast<std::uint64_t>(protocol ^ other.protocol);
    return differences == 0;
  }
};

struct Directed {
  Key key{};
  bool from_low = true;
};

inline Directed key_of(const packet::Ends& ends) {
  const auto& source = ends.source.words;
  const auto& destination = ends.destination.words;
  const bool is_first_same = source[0] == destination[0];
  const bool is_same = is_first_same && source[1] == destination[1];
  const bool from_low = is_same         ? ends.source_port <= ends.destination_port
                        : is_first_same ? source[1] < destination[1]
                                        : source[0] < destination[0];
  Directed directed;
  directed.from_low = from_low;
  directed.key.low = from_low ? ends.source : ends.destination;
  directed.key.high = from_low ? ends.destination : ends.source;
  const std::uint32_t low_port = from_low ? ends.source_port : ends.destination_port;
  const std::uint32_t high_port = from_low ? ends.destination_port : ends.source_port;
  directed.key.ports = low_port << 16 | high_port;
  directed.key.tunnel = ends.tunnel;
  directed.key.protocol = ends.protocol;
  return directed;
}

// Folds the full product of two words: every bit of both moves every bit of the result.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(const Key& key, std::uint64_t secret) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  const std::uint64_t low = mix(key.low.words[0] ^ secret, key.low.words[1] ^ kOdd);
  const std::uint64_t high = mix(key.high.words[0] ^ kOdd, key.high.words[1] ^ secret);
  const std::uint64_t rest = std::uint64_t{key.ports} << 32 | (key.tunnel ^ key.protocol);
  return mix(low ^ rest ^ secret, high ^ (secret >> 32 | secret << 32));
}

}  // namespace chokepoint::capture::flow
