// Copies between two GPUs, each way and both at once: straight from one's memory to the other's,
// and through host memory. What fails or is stopped on the way is told in the outcome. One thread.
#pragma once

#include "base/gpu/cuda.h"
#include "probe/pcie/outcome.h"
#include "probe/pcie/pace.h"

namespace chokepoint::probe::pcie {

PeerOutcome survey_peers(const gpu::Cuda& one, const gpu::Cuda& other, const Pace& pace);

}  // namespace chokepoint::probe::pcie
