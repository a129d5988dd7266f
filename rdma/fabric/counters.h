// What a port has counted until now (the RDMA device's own counters, and the pauses, marks and
// drops that the driver of its interface counts), and what it counted during a test. Both ends read
// theirs before and after the test; the server sends its Changes to the client, which checks and
// bounds what a peer sends and reports on both. Values; reads only under the given root.
//
//   const PortCounters before = read_counters(root, "rxe0", 1, *host::link_query_for(root));
//   … the test …
//   const Changes own = changes(before, read_counters(root, "rxe0", 1, *links));
//   judge(own, peer)                     judgement.h: was the fabric clean?
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/message.h"
#include "base/documents/rdma.h"
#include "base/host/link_query.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::rdma::fabric {

struct Counted {
  std::string name = {};   // "out_of_sequence", "received_pauses"
  std::uint64_t raw = 0;   // as the device counts
  std::uint64_t unit = 1;  // what `raw` is multiplied by
};

struct PortCounters {
  std::string subject = {};  // "mlx5_0/1"
  std::string netdev = {};   // the interface whose driver was asked; empty: none is known
  std::vector<Counted> counters = {};
};

PortCounters read_counters(const sys::Root& root, const std::string& device, int port,
                           const host::LinkQuery& links);

using Changes = documents::PortChanges;

Changes changes(const PortCounters& before, const PortCounters& after);

control::Json body_of(const Changes& changes);
Result<Changes> changes_in(const control::Json& body);

}  // namespace chokepoint::rdma::fabric
