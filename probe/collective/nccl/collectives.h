// One collective given to NCCL, that it carries out in the stream. What has no function of its own
// is a group of sends and receives, as nccl-tests and PyTorch do it.
#pragma once

#include "base/gpu/driver.h"
#include "probe/collective/nccl/interface.h"
#include "probe/collective/operation.h"

namespace chokepoint::probe::collective::nccl {

struct Run {
  const Functions& functions;
  Comm comm;
  Stream stream;
  int rank;
  gpu::Address input;
  gpu::Address output;
};

Code start(const Operation& operation, const Run& run);

}  // namespace chokepoint::probe::collective::nccl
