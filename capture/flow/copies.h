// Recognises a packet that was seen already: the network copied it, or the capture did (two
// interfaces, a bond and its slave). A sender gives every packet an IP ID of its own, so the same
// ID with the same numbers is the same packet, and another ID is a retransmission. Where there are
// no IDs (IPv6, or 0), only another interface makes a copy of what looks the same. Remembers the
// last few packets that were no new data. A value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

inline bool has_id(const packet::Packet& packet) { return packet.has_ip_id && packet.ip_id != 0; }

class Copies {
 public:
  // True where this packet is among the remembered ones; else it is remembered.
  bool saw(const packet::Packet& packet) {
    const Mark mark = mark_of(packet);
    for (const Mark& each : recent_) {
      if (each.numbers == mark.numbers && each.rest == mark.rest &&
          (mark.has_id || each.interface != mark.interface)) {
        return true;
      }
    }
    recent_[next_] = mark;
    next_ = static_cast<std::uint8_t>((next_ + 1) % kRemembered);
    return false;
  }

 private:
  static constexpr std::size_t kRemembered = 4;

  struct Mark {
    std::uint64_t numbers = 0;
    std::uint64_t rest = 0;
    std::uint32_t interface = 0;
    bool has_id = false;
  };

  static Mark mark_of(const packet::Packet& packet) {
    Mark mark;
    mark.numbers = std::uint64_t{packet.tcp.sequence} << 32 | packet.tcp.acknowledgement;
    mark.has_id = has_id(packet);
    mark.rest = std::uint64_t{packet.payload_bytes} << 32 | std::uint64_t{packet.tcp.window} << 16 |
                (mark.has_id ? packet.ip_id : packet.tcp.timestamp & 0xffff);
    mark.interface = packet.interface;
    return mark;
  }

  std::array<Mark, kRemembered> recent_{};
  std::uint8_t next_ = 0;
};

}  // namespace chokepoint::capture::flow
