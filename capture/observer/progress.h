// How far a capture got, what was lost, and what belongs to no flow. CaptureProgress is updated by
// the reading thread once per batch and read by any thread; Others belongs to one analyser.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "capture/packet/packet.h"
#include "capture/source/source.h"

namespace chokepoint::capture::observer {

struct Progress {
  std::uint64_t frames = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t dropped_by_kernel = 0;
  std::uint64_t dropped_by_interface = 0;
  std::int64_t first_ns = 0;  // of the first frame and of the newest one; 0 without frames
  std::int64_t last_ns = 0;

  double seconds() const;
};

class CaptureProgress {
 public:
  // The reading thread.
  void take(const source::Batch& batch);
  void take(const std::vector<source::Interface>& interfaces);

  Progress now() const;
  // When how much was lost. The number of entries is bounded: then the last one grows.
  std::vector<source::Drop> drops() const;
  std::vector<source::Interface> interfaces() const;
  std::string interface_name(std::uint32_t index) const;

 private:
  void keep(const source::Drop& drop);

  mutable std::mutex mutex_;
  Progress progress_;
  std::vector<source::Drop> drops_;
  std::vector<source::Interface> interfaces_;
};

// Bytes are those of the frames.
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

// Packets that belong to no flow.
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
