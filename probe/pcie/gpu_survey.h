// All that is measured of one GPU, and of a pair of them. What fails or is stopped on the way is
// told in the outcome, and what was measured before it stays. One thread, which is moved to the
// GPU's own processors meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/gpu/cuda.h"
#include "base/host/nvml.h"
#include "base/sys/root.h"
#include "probe/pcie/host_memory.h"
#include "probe/pcie/outcome.h"
#include "probe/pcie/pace.h"

namespace chokepoint::probe::pcie {

struct Surroundings {
  std::string driver = "libcuda.so.1";
  std::string nvml = "libnvidia-ml.so.1";
  sys::Root root = {};
  TakePages take_pages = pcie::take_pages;
  // What begins now: "GPU 0: pinned".
  std::function<void(const std::string& what)> tell = [](const std::string&) {};
};

// `nvml` may be null. `node`: of the GPU, nothing where it is not known.
GpuOutcome survey_gpu(const gpu::Cuda& gpu, const Surroundings& host, const Pace& pace,
                      const host::NvmlLinks* nvml, const std::vector<Node>& nodes,
                      const std::optional<int>& node);

// The largest copy up to `wanted` for which the GPU, the host and these NUMA nodes have room.
std::uint64_t fitting_bytes(const gpu::Cuda& gpu, const sys::Root& root, std::uint64_t wanted,
                            const std::vector<int>& nodes = {});

}  // namespace chokepoint::probe::pcie
