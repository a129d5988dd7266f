// Copies between a GPU and its host that fill the PCIe link while no kernel runs. A link's bytes by
// what it can carry are how long the copies took at least; what of it lies behind kernels, or
// within what the network is blamed for already, costs nothing. Pure.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Moves time from computing to the PCIe account, and names the GPU's node where it is the most.
void add_gpu_copies(const Scene& scene, Findings& findings);

}  // namespace chokepoint::analysis
