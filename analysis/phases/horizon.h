// How far a record that has no end tells the whole: the newest steps are in it before what was
// exchanged in them, which is written when it is surely over. Taken for quiet, such a step would be
// all computing. Pure.
#pragma once

#include <cstdint>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// On the common clock; INT64_MAX where every node's watching ended.
std::int64_t known_until_ns(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
