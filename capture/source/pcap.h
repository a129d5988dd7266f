// Classic pcap, read and written. The magic number shows the writer's byte order and the unit of
// time.
//
//   file    magic u32 │ version u16 u16 │ zone i32 │ accuracy u32 │ snapshot u32 │ link type u32
//   packet  seconds u32 │ micro- or nanoseconds u32 │ captured u32 │ length u32 │ bytes …
//
//   a1b2c3d4  microseconds      a1b23c4d  nanoseconds
//   a1b2cd34  "modified" by Kuznetzov: each packet's head has 8 more bytes
//
// Used by the thread that reads or writes the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "capture/source/format.h"
#include "capture/source/output_file.h"

namespace chokepoint::capture::source {

inline constexpr std::size_t kPcapFileHeadBytes = 24;
inline constexpr std::size_t kPcapPacketHeadBytes = 16;
inline constexpr std::uint32_t kPcapMicroseconds = 0xa1b2c3d4;
inline constexpr std::uint32_t kPcapNanoseconds = 0xa1b23c4d;
inline constexpr std::uint32_t kPcapModified = 0xa1b2cd34;

// A reader, if `head`, the first bytes of the file of that name, begins a pcap file; else null.
std::unique_ptr<Format> pcap_format(std::span<const std::uint8_t> head, const std::string& name);

// Writes nanoseconds in this machine's byte order. Errors stay in the file: see
// OutputFile::error().
void append_pcap_head(OutputFile& file, const Interface& interface);
void append_pcap_packet(OutputFile& file, const packet::Frame& frame);

}  // namespace chokepoint::capture::source
