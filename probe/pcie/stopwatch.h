// Times copies by the GPU's own events: some to warm up, then batches of copies between two events,
// as often as the time allows and three times at least. The median batch counts.
#pragma once

#include <functional>
#include <span>

#include "base/gpu/cuda.h"
#include "probe/pcie/pace.h"

namespace chokepoint::probe::pcie {

// A stream and what is copied in it again and again. All lanes of a measurement copy at the same
// time and are streams of one GPU.
struct Lane {
  const gpu::Stream* stream = nullptr;
  std::function<Result<>()> copy = {};
};

// What all lanes move together, in 10^6 bit/s, when each copy is of `bytes`. An error of the kind
// Interrupted where it was stopped.
Result<double> measure(std::span<const Lane> lanes, std::uint64_t bytes, const Pace& pace);

}  // namespace chokepoint::probe::pcie
