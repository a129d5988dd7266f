// What a section of a pcapng says before and beside its packets: its byte order and its interfaces,
// with their units of time and drop counters. A new section begins with none. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "capture/source/byte_order.h"
#include "capture/source/source.h"
#include "capture/source/time_unit.h"

namespace chokepoint::capture::source {

struct SectionInterface {
  std::uint32_t index = 0;  // among those of the whole file
  packet::LinkType link_type = packet::LinkType::Ethernet;
  std::uint32_t snapshot_bytes = UINT32_MAX;
  TimeUnit unit = {};
  std::uint64_t dropped_by_kernel = 0;
  std::uint64_t dropped_by_interface = 0;
};

// Bounds what a file of nothing but interfaces costs.
inline constexpr std::size_t kMostInterfaces = 65536;

class PcapngSection {
 public:
  explicit PcapngSection(ByteOrder order = ByteOrder::Own) : order_(order) {}

  ByteOrder order() const { return order_; }
  const std::vector<SectionInterface>& interfaces() const { return interfaces_; }

  // The body of an interface description; adds to those of the file, too. False where it is too
  // short or one too many.
  bool describe_interface(std::span<const std::uint8_t> body, std::vector<Interface>& all);
  // The body of an interface's statistics. False where it is too short or names no interface.
  bool count_drops(std::span<const std::uint8_t> body, std::vector<Drop>& drops);

 private:
  ByteOrder order_;
  std::vector<SectionInterface> interfaces_;
};

}  // namespace chokepoint::capture::source
