#include <array>
#include <cstring>

#include "capture/source/encoding.h"
#include "capture/source/pcap_format.h"
#include "capture/source/wall_clock.h"

namespace chokepoint::capture::source {
namespace {

constexpr std::uint32_t kVersion = 2 | 4 << 16;

}  // namespace

void append_pcap_head(OutputFile& file, const Interface& interface) {
  const std::array<std::uint32_t, 6> head{kPcapNanoseconds,
                                          kVersion,
                                          0,
                                          0,
                                          interface.snapshot_bytes,
                                          static_cast<std::uint32_t>(interface.link_type)};
  static_assert(sizeof(head) == kPcapFileHeadBytes);
  if (std::uint8_t* at = file.append(sizeof(head)); at != nullptr) {
    std::memcpy(at, head.data(), sizeof(head));
  }
}

void append_pcap_packet(OutputFile& file, const packet::Frame& frame) {
  const auto time_ns = static_cast<std::uint64_t>(frame.time_ns);
  const std::array<std::uint32_t, 4> head{static_cast<std::uint32_t>(time_ns / kSecondNs),
                                          static_cast<std::uint32_t>(time_ns % kSecondNs),
                                          frame.captured_bytes, frame.frame_bytes};
  static_assert(sizeof(head) == kPcapPacketHeadBytes);
  if (std::uint8_t* at = file.append(sizeof(head) + frame.captured_bytes); at != nullptr) {
    std::memcpy(at, head.data(), sizeof(head));
    std::memcpy(at + sizeof(head), frame.data, frame.captured_bytes);
  }
}

}  // namespace chokepoint::capture::source
