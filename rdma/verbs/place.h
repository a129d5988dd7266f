// A request's number as the device hands it back: its queue pair and its place in that one's ring.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::rdma::verbs {

constexpr std::uint64_t request_number(int queue, std::size_t place) {
  return static_cast<std::uint64_t>(queue) << 32U | place;
}
constexpr int queue_of(std::uint64_t number) { return static_cast<int>(number >> 32U); }
constexpr std::uint32_t place_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number);
}

}  // namespace chokepoint::rdma::verbs
