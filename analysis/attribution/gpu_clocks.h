// GPUs that their driver kept below their clocks while they worked: too hot, at their power cap,
// braked. Told of what worked alone: an idle GPU's clock is low, and that costs nothing. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/scene.h"
#include "base/host/gpu.h"

namespace chokepoint::analysis {

struct GpuClocks {
  std::string gpu = {};
  double slowed_percent = 0;                     // of the time that it worked
  const host::ThrottleReason* reason = nullptr;  // the one that held longest
  double reason_percent = 0;
  std::optional<double> clock_mhz = {};  // the mean while it worked
  std::optional<double> max_mhz = {};

  double below_max() const;  // a share
};

// Of the job's GPUs on this node that one which ran slowest.
std::optional<GpuClocks> slowest_gpu(const NodeData& node, Span span);

// Says of a late rank that its GPU's clock is why, where it was slowed down, ran slower than the
// others' and that explains half of the lateness.
void explain_by_clocks(const DiagnosisInput& input, std::size_t place, Verdict& verdict);

// Says of a step full of computing that the GPUs could compute faster.
void remark_clocks(const DiagnosisInput& input, Verdict& computing);

}  // namespace chokepoint::analysis
