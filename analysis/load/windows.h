// Where windows lie in a time of which not everything can be read. Pure functions.
#pragma once

#include <functional>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct WindowsWanted {
  Span span = {};
  double rows = 0;            // to be read at most, about
  std::size_t most = 40;      // windows
  std::int64_t least_ns = 0;  // length of a window, rather than many: what is read must be of use
  bool from_start = true;     // the first begins with the span, the last ends with it
  bool to_end = true;
};

// `rows_until` tells how many rows end before a moment. Windows are in order and apart.
std::vector<Span> spread_windows(const WindowsWanted& wanted,
                                 const std::function<double(std::int64_t)>& rows_until);

}  // namespace chokepoint::analysis
