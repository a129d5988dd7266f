// Frames to packets. Reads no byte beyond what was captured, allocates nothing after construction,
// and takes the same bounded time for any bytes. Its only memory is a small table of first
// fragments, which gives later fragments their ports. One Decoder per thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/packet/frame.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

struct Piece;
struct Walk;
enum class Network : std::uint8_t;

// Which tunnels to look into. Of the others the outer packet is decoded.
struct Tunnels {
  bool vxlan = false;   // UDP 4789 and 8472
  bool geneve = false;  // UDP 6081
  bool gre = false;     // also with Ethernet inside
  bool ip_in_ip = false;

  bool any() const { return vxlan || geneve || gre || ip_in_ip; }
};

// A first fragment has the ports, later ones have not. This table remembers first fragments for
// half a minute, so that later ones are counted with their flow. Of fixed size: 64 sets of four
// places; in a full set the oldest is replaced. Later fragments stay without ports if the first
// comes after them or never.
class Fragments {
 public:
  // `packet` is the first piece; its payload begins `before` bytes into what was fragmented.
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

// Ethernet, IPv4 or IPv6 without options or fragments, TCP without options but padded timestamps,
// all of it captured and without contradiction: every field of `packet` is set as the Decoder
// would, in one step. False: any other frame, and `packet` means nothing. Implemented by
// ordinary.cc.
bool read_ordinary(const Frame& frame, Packet& packet);

class Decoder {
 public:
  explicit Decoder(Tunnels tunnels = {}) : tunnels_(tunnels) {}

  // Sets every field of `packet`, except SACK blocks beyond their count, and `roce` of other kinds.
  // If the content of a tunnel is no IP packet, or was cut before its ports, `packet` is the outer
  // one.
  void decode(const Frame& frame, Packet& packet) {
    if (!read_ordinary(frame, packet)) {
      decode_any(frame, packet);
    }
  }

 private:
  void decode_any(const Frame& frame, Packet& packet);
  Kind decode_ip(Walk& walk, Network network, Packet& packet);
  Kind decode_first_piece(Walk& walk, const Piece& piece, Packet& packet);
  Kind decode_later_piece(const Walk& walk, const Piece& piece, Packet& packet);
  void look_inside(Walk walk, Packet& packet);

  Tunnels tunnels_;
  Fragments fragments_;
};

}  // namespace chokepoint::capture::packet
