// Attributes of a queue pair are bytes; what does not fit becomes the nearest that does.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chokepoint::rdma::verbs {

inline std::uint8_t byte_of(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

}  // namespace chokepoint::rdma::verbs
