// A finding of a history in words, the same for the page and the document. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/trends/lately.h"

namespace chokepoint::trends {

// "gpu3 > gpu1: throughput 94.0 Gb/s → 71.0 Gb/s (-24 %) since 2026-05-03 14:10, 6 of 6 paths from
// gpu3, none elsewhere; on gpu3 meanwhile: gpu driver 550 → 570; p 0.0004"
std::string headline_of(const HistoryFinding& finding);

// "throughput"; of an unknown metric its key in words.
std::string metric_name(const std::string& metric);

// "2026-05-03 14:10", UTC.
std::string minute_text(std::int64_t wall_ns);

}  // namespace chokepoint::trends
