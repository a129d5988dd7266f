// sum_by: the sum of a member or a function over a range. most_by: the element for which it is
// largest. Pure; any thread.
#pragma once

#include <algorithm>
#include <functional>
#include <ranges>

namespace chokepoint::analysis {

template <std::ranges::forward_range Range, class Of>
double sum_by(const Range& values, Of of) {
  double sum = 0;
  for (const auto& value : values) {
    sum += static_cast<double>(std::invoke(of, value));
  }
  return sum;
}

// nullptr for an empty range; the first of equal ones. Points into the range.
template <std::ranges::contiguous_range Range, class Of>
auto most_by(const Range& values, Of of) -> const std::ranges::range_value_t<Range>* {
  const auto most = std::ranges::max_element(values, {}, of);
  return most == std::ranges::end(values) ? nullptr : &*most;
}

}  // namespace chokepoint::analysis
