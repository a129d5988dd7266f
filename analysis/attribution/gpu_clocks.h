// GPUs whose clocks the driver lowered while they worked: because of heat, their power cap, or
// their power supply. Only busy GPUs count: an idle GPU's clock is low, and that costs nothing.
// Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "analysis/attribution/findings.h"
#include "base/host/gpu.h"

namespace chokepoint::analysis {

struct GpuClocks {
  std::string gpu = {};
  double slowed_percent = 0;                     // of the time that it worked
  const host::ThrottleReason* reason = nullptr;  // the one that held longest
  double reason_percent = 0;
  std::optional<double> clock_mhz = {};  // the mean while it worked
  std::optional<double> max_mhz = {};

  // The share by which the clock stayed below its maximum.
  double below_max() const {
    return clock_mhz && max_mhz && *max_mhz > 0 ? std::max(0.0, 1 - *clock_mhz / *max_mhz) : 0;
  }
};

// Of the job's GPUs on this node the one with the lowest clock.
std::optional<GpuClocks> slowest_gpu(const NodeData& node, Span span);

// Makes its GPU's clock the cause of a late rank, if the GPU was slowed down, ran slower than the
// others' and that explains half of the lateness.
void explain_by_clocks(const DiagnosisInput& input, std::size_t place, Verdict& verdict);

// Makes slowed GPUs the cause of a step full of computing.
void remark_clocks(const DiagnosisInput& input, Verdict& computing);

}  // namespace chokepoint::analysis
