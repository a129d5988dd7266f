// NCCL between GPUs, by the host's own libnccl and GPU driver, which are opened when it is asked
// for. Ranks that were given one GPU together are made to look like those of several hosts.
#pragma once

#include <string>

#include "probe/collective/backend.h"

namespace chokepoint::probe::collective {

struct NcclLibraries {
  std::string nccl = "libnccl.so.2";
  std::string cuda = "libcuda.so.1";
};

Backend nccl_backend(const NcclLibraries& libraries = {});

}  // namespace chokepoint::probe::collective
