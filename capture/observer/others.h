// What belongs to no flow, counted by what it is. Bytes are those of the frames. A value.
#pragma once

#include <cstdint>

#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

struct Count {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;

  void add(std::uint64_t frame_bytes) {
    ++packets;
    bytes += frame_bytes;
  }
  Count& operator+=(const Count& other) {
    packets += other.packets;
    bytes += other.bytes;
    return *this;
  }
};

struct Others {
  Count other_ip = {};
  Count not_ip = {};
  Count malformed = {};

  void add(const packet::Packet& packet) {
    Count& count = packet.kind == packet::Kind::NotIp       ? not_ip
                   : packet.kind == packet::Kind::Malformed ? malformed
                                                            : other_ip;
    count.add(packet.frame_bytes);
  }
  Others& operator+=(const Others& more) {
    other_ip += more.other_ip;
    not_ip += more.not_ip;
    malformed += more.malformed;
    return *this;
  }
};

}  // namespace chokepoint::capture::observer
