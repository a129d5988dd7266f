// Where a buffer in GPU memory finds the driver and the kernel's modules; handed in, so that tests
// have some of their own. gpu_buffer() in buffer.h takes this host's.
#pragma once

#include <memory>
#include <string>

#include "base/sys/root.h"
#include "rdma/memory/buffer.h"

namespace chokepoint::rdma::memory {

struct GpuSurroundings {
  std::string driver = "libcuda.so.1";
  sys::Root root = {};
};

Result<std::unique_ptr<Buffer>> gpu_buffer_in(const GpuSurroundings& host, std::uint64_t bytes,
                                              const GpuOptions& options);

}  // namespace chokepoint::rdma::memory
