// Findings about copies between GPUs and their host that fill a PCIe link while no kernel runs.
// The bytes divided by the link's rate are the least time of the copies; the part of it behind
// kernels, or within time that is already counted for the network, costs nothing.
//
// Counters are means over many steps and do not show when within a step something was copied. So
// copies count only where kernels, copies and network must have taken turns: together they fill
// the step, or Gloo copied the data of its exchanges, which it does before and after them.
#pragma once

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

// Moves time that copies between GPUs and their host took from computing to the PCIe account, and
// from waiting for a rank that came late because it copied for longer than the others; names the
// node where it is the most.
void add_gpu_copies(const DiagnosisInput& input, Findings& findings);

// What went by NVLink, beside computing: its exchanges are kernels, and look like that.
void remark_nvlink(const DiagnosisInput& input, Verdict& computing);

}  // namespace chokepoint::analysis
