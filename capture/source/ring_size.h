// How much the kernel's ring has to hold: full-size packets at line rate, both directions, while
// the reader is away for a tenth of a second. A pure function.
#pragma once

#include <cstdint>

#include "capture/source/interface_facts.h"

namespace chokepoint::capture::source {

// The kernel fills the ring in blocks of this size, whatever the snapshot length.
inline constexpr std::uint64_t kRingBlockBytes = std::uint64_t{256} << 10;
inline constexpr std::uint64_t kSmallestRing = std::uint64_t{8} << 20;
inline constexpr std::uint64_t kLargestRing = std::uint64_t{256} << 20;

std::uint64_t ring_size(const InterfaceFacts& interface, std::uint32_t snapshot_bytes);

}  // namespace chokepoint::capture::source
