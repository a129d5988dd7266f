// How NCCL's data went: its log and its connections together, and what this host has that is
// better. A pure function.
#pragma once

#include <string>
#include <vector>

#include "base/host/rdma.h"
#include "probe/collective/nccl/log.h"
#include "probe/collective/way/way.h"

namespace chokepoint::probe::collective::nccl {

struct Seen {
  LogFacts log = {};
  std::vector<Connection> connections = {};
  int ranks = 1;
  HostNetwork host = {};
  std::vector<host::RdmaDevice> rdma = {};
  bool shares_gpu = false;
};

// But for the library's name.
Way way_of(const Seen& seen);

}  // namespace chokepoint::probe::collective::nccl
