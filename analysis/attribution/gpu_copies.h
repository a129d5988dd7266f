// Copies between GPUs and their host that fill a PCIe link while no kernel runs. A link's bytes by
// what it can carry are how long the copies took at least; what of it lies behind kernels, or
// within what the network is blamed for already, costs nothing. Pure.
//
// Counters tell means over many steps, not when within a step something was copied. So copies are
// blamed where kernels, copies and network can only have taken turns: together they fill the step,
// or Gloo copied what it exchanged, which it does before and after.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Moves time from computing to the PCIe account, and from waiting for a rank that came late because
// it copied for longer than the others; names the node where it is the most.
void add_gpu_copies(const DiagnosisInput& input, Findings& findings);

}  // namespace chokepoint::analysis
