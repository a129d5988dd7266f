// Figures under the names that Prometheus will know them by: base units, counters that end in
// _total, shares from 0 to 1. What is not known has no sample. Pure functions.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "capture/live/figures.h"

namespace chokepoint::capture::live {

std::vector<prometheus::MetricFamily> families_of(const Figures& figures);

}  // namespace chokepoint::capture::live
