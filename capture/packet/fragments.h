// First fragments have the ports, later ones have not. This small table remembers the first ones
// for half a minute, so that later ones are counted where they belong. Of fixed size, 64 sets of
// four places; in a full set the oldest makes room. Where the first fragment comes late or never,
// the others stay without ports.
//
// Owned by a Decoder, used by its thread.
#pragma once

#include <array>
#include <cstdint>

#include "capture/packet/ip.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

class Fragments {
 public:
  // `packet` is the first piece, its payload beginning `before` bytes into what was fragmented.
  void remember(const Packet& packet, const Piece& piece, std::uint32_t before);

  // Fills in what the first piece knew. False: it was not seen, or this one overlaps its header.
  bool complete(Packet& later, const Piece& piece) const;

 private:
  static constexpr std::size_t kSets = 64;
  static constexpr std::size_t kPlaces = 4;

  struct First {
    std::int64_t time_ns = 0;
    Ends ends{};
    Tcp tcp{};
    std::uint32_t id = 0;
    std::uint32_t before = 0;
    Kind kind = Kind::NotIp;    // NotIp: the place is free
    std::uint8_t protocol = 0;  // Piece::protocol

    bool is_of(const Packet& packet, const Piece& piece) const;
  };

  struct Set {
    std::array<First, kPlaces> places{};
    std::uint8_t next = 0;
  };

  static std::size_t set_of(const Packet& packet, const Piece& piece);

  std::array<Set, kSets> sets_{};
};

}  // namespace chokepoint::capture::packet
