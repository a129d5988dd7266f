// What a port has counted until now: the RDMA device's own counters and what the driver of the
// interface under it counts of pauses, marks and drops. Read before and after a test at both ends;
// what lies in between is changes.h's. Values; reads under the given root only.
//
//   const PortCounters before = read_counters(root, "rxe0", 1, *host::link_query_for(root));
//   … the test …
//   const Changes own = changes(before, read_counters(root, "rxe0", 1, *links));
//   judge(own, peer)                     judgement.h: was the fabric clean?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/host/link_query.h"
#include "base/sys/root.h"

namespace chokepoint::rdma::fabric {

struct Counted {
  std::string name = {};   // "out_of_sequence", "received_pauses"
  std::uint64_t raw = 0;   // as it is counted
  std::uint64_t unit = 1;  // what that is multiplied with
};

struct PortCounters {
  std::string subject = {};  // "mlx5_0/1"
  std::string netdev = {};   // whose driver was asked; empty: none is known
  std::vector<Counted> counters = {};
};

PortCounters read_counters(const sys::Root& root, const std::string& device, int port,
                           const host::LinkQuery& links);

}  // namespace chokepoint::rdma::fabric
