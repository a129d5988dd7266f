// One record of a ring as it was read: words that nobody has judged yet. A value.
#pragma once

#include <array>
#include <cstdint>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl {

struct Entry {
  std::array<std::uint64_t, kWords> words = {};

  Kind kind() const { return static_cast<Kind>(words[0] & 0xffU); }
  std::uint16_t communicator() const { return static_cast<std::uint16_t>(words[0] >> 8U); }
  std::uint64_t at(std::size_t word) const { return words.at(word); }
};

}  // namespace chokepoint::capture::nccl
