// Where the bins of a page's time axis lie. Pure.
#pragma once

#include <span>

#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

// About as many bins as wanted: half of them even over the whole, and, where windows were read in
// full, the rest inside of these. Without windows all are even. None is shorter than that.
TimeAxis time_axis(Span whole, std::span<const Span> windows, std::size_t bins,
                   std::int64_t shortest_ns);

}  // namespace chokepoint::analysis
