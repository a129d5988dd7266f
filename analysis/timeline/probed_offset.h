// By how much two nodes' clocks differ as probes measured it, by asking and answering. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Of a clock, as far as nobody measured it.
constexpr double kUnsteeredDrift = 50e-6;

struct ProbedOffset {
  std::int64_t offset_ns = 0;  // the second's clock less the first's
  double error_ns = 0;         // in the middle of the first's span: clocks drift since the probe
};

// The surest that either has of the other, who may go by name, host or address.
std::optional<ProbedOffset> probed_offset(const NodeData& first, const NodeData& second);

}  // namespace chokepoint::analysis
