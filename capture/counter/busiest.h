// Which of many are worth a row: the few that moved most. Keeps what is written bounded on a host
// of 256 cores or 500 interfaces. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace chokepoint::capture::counter {

// For each growth whether it is one of the `most` largest, and more than none.
inline std::vector<bool> busiest_of(const std::vector<std::uint64_t>& growths, std::size_t most) {
  std::vector<std::size_t> order(growths.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  const std::size_t count = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count),
                            std::greater(), [&](std::size_t i) { return growths[i]; });
  std::vector<bool> is_busiest(growths.size());
  for (std::size_t i = 0; i < count; ++i) {
    is_busiest[order[i]] = growths[order[i]] > 0;
  }
  return is_busiest;
}

}  // namespace chokepoint::capture::counter
