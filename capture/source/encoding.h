// Packets as bytes of a file: pcap with nanoseconds, see pcap_format.h, or pcapng, see
// pcapng_format.h, in this machine's byte order. No state but the file's. Errors stay in the file:
// see OutputFile::error().
#pragma once

#include <cstddef>
#include <cstdint>

#include "capture/packet/frame.h"
#include "capture/source/output_file.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

void append_pcap_head(OutputFile& file, const Interface& interface);
void append_pcap_packet(OutputFile& file, const packet::Frame& frame);

void append_pcapng_head(OutputFile& file);
void append_pcapng_interface(OutputFile& file, const Interface& interface);
void append_pcapng_packet(OutputFile& file, const packet::Frame& frame);
// `drop` with counts since the file began.
void append_pcapng_drops(OutputFile& file, const Drop& drop);

// What a packet takes in either: at most.
inline std::size_t encoded_bytes(const packet::Frame& frame) {
  constexpr std::size_t kMostOverhead = 32 + 3;
  return frame.captured_bytes + kMostOverhead;
}

}  // namespace chokepoint::capture::source
