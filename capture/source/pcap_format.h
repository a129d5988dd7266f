// Classic pcap, in the byte order of whoever wrote it; the magic tells it and the unit of time.
//
//   file    magic u32 │ version u16 u16 │ zone i32 │ accuracy u32 │ snapshot u32 │ link type u32
//   packet  seconds u32 │ micro- or nanoseconds u32 │ captured u32 │ length u32 │ bytes …
//
//   a1b2c3d4  microseconds      a1b23c4d  nanoseconds
//   a1b2cd34  "modified" by Kuznetzov: each packet's head has 8 more bytes
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "capture/source/byte_order.h"
#include "capture/source/format.h"

namespace chokepoint::capture::source {

inline constexpr std::size_t kPcapFileHeadBytes = 24;
inline constexpr std::size_t kPcapPacketHeadBytes = 16;
inline constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
inline constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
inline constexpr std::uint32_t kPcapModified = 0xa1b2cd34;

class PcapFormat final : public Format {
 public:
  // Null where `head` does not begin a pcap file.
  static std::unique_ptr<PcapFormat> recognise(std::span<const std::uint8_t> head,
                                               const std::string& name);

  Consumed take(std::span<const std::uint8_t> bytes, Batch& batch) override;

 private:
  PcapFormat() = default;
  template <ByteOrder Order>
  Consumed take_in(std::span<const std::uint8_t> bytes, Batch& batch);

  ByteOrder order_ = ByteOrder::Own;
  std::uint32_t unit_ns_ = 1;
  std::size_t packet_head_bytes_ = kPcapPacketHeadBytes;
};

}  // namespace chokepoint::capture::source
