// Frames for the tests of the observer: a source that plays a script, and UDP packets that carry
// their own number.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "capture/source/source.h"

namespace chokepoint::capture::observer {

// A whole Ethernet frame with IPv4 and UDP: 10.0.0.`from` to 10.0.0.`to`.
struct Datagram {
  std::uint8_t from = 1;
  std::uint8_t to = 2;
  std::uint16_t from_port = 1000;
  std::uint16_t to_port = 2000;
  std::uint16_t payload_bytes = 8;
};

inline std::vector<std::uint8_t> bytes_of(const Datagram& datagram) {
  constexpr std::size_t kHeaders = 42;
  std::vector<std::uint8_t> bytes(kHeaders + datagram.payload_bytes);
  const auto put16 = [&](std::size_t at, unsigned value) {
    bytes[at] = static_cast<std::uint8_t>(value >> 8U);
    bytes[at + 1] = static_cast<std::uint8_t>(value);
  };
  put16(12, 0x0800);
  bytes[14] = 0x45;
  put16(16, 28U + datagram.payload_bytes);
  bytes[22] = 64;
  bytes[23] = 17;
  const std::array<std::uint8_t, 8> addresses{10, 0, 0, datagram.from, 10, 0, 0, datagram.to};
  std::memcpy(&bytes[26], addresses.data(), addresses.size());
  put16(34, datagram.from_port);
  put16(36, datagram.to_port);
  put16(38, 8U + datagram.payload_bytes);
  return bytes;
}

// Hands out what `next` makes, on the reading thread.
class ScriptedSource final : public source::Source {
 public:
  using Next = std::function<Result<source::Progress>(source::Batch& batch)>;

  explicit ScriptedSource(Next next) : next_(std::move(next)) {}

  Result<source::Progress> read(source::Batch& batch) override {
    batch.clear();
    return next_(batch);
  }
  const std::vector<source::Interface>& interfaces() const override { return interfaces_; }

 private:
  Next next_;
  std::vector<source::Interface> interfaces_{{.name = "scripted"}};
};

// So many frames, `each` a batch, a microsecond apart, of what `datagram_of` says. The bytes lie in
// the batch, as those of a real source do, and are overwritten when it is filled again.
inline ScriptedSource::Next playing(std::uint64_t frames, std::size_t each,
                                    std::function<Datagram(std::uint64_t)> datagram_of) {
  return [=, played = std::uint64_t{0}](source::Batch& batch) mutable -> Result<source::Progress> {
    constexpr std::size_t kRoom = 128;
    constexpr std::int64_t kMicrosecond = 1'000;
    batch.bytes.assign(each * kRoom, 0);
    for (std::size_t i = 0; i < each && played < frames; ++i, ++played) {
      const std::vector<std::uint8_t> bytes = bytes_of(datagram_of(played));
      std::uint8_t* at = batch.bytes.data() + i * kRoom;
      std::memcpy(at, bytes.data(), bytes.size());
      batch.frames.push_back({.time_ns = static_cast<std::int64_t>(played + 1) * kMicrosecond,
                              .data = at,
                              .captured_bytes = static_cast<std::uint32_t>(bytes.size()),
                              .frame_bytes = static_cast<std::uint32_t>(bytes.size())});
    }
    return played == frames ? source::Progress::End : source::Progress::More;
  };
}

}  // namespace chokepoint::capture::observer
