// What the ranks exchanged, by the library's own messages or its profiler: each rank's part in a
// collective or a message, on the common clock. When a rank arrived is taken from its own record;
// if that is missing, from when its neighbour saw it, less half of the round trip. Pure; any
// thread.
#pragma once

#include <optional>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// One rank's part in a collective, or one end of a message.
struct Exchange {
  std::size_t node = 0;
  std::int64_t rank = -1;  // -1: not known; a node may have several
  record::CollectiveSource source = record::CollectiveSource::Gloo;
  record::CollectiveKind kind = record::CollectiveKind::Unknown;
  std::int64_t number = 0;
  std::int64_t communicator = 0;  // as the rank's record numbers it
  std::int64_t group = 0;         // of all ranks that exchange with each other in it
  // In RunData, to the neighbour that came last; of NCCL's messages a number of the two ranks.
  std::int64_t connection = -1;
  double bytes = 0;
  std::int64_t one_way_ns = 0;  // to that neighbour: half of the unloaded round trip
  bool is_ready_known = true;   // false: own_ready_ns is when it may have come at the earliest
  std::int64_t own_ready_ns = 0;
  std::int64_t latest_ready_ns = INT64_MAX;  // where ready is not known: it had come by then
  std::int64_t all_ready_ns = 0;             // when the last of those that take part had come
  std::int64_t end_ns = 0;                   // its last data had passed here
};

inline bool is_message(const Exchange& exchange) {
  return exchange.kind == record::CollectiveKind::Send ||
         exchange.kind == record::CollectiveKind::Receive;
}

// A list for each rank, in the order of nodes and ranks; one of rank -1 if it is not known, also
// for a node whose record has none. Each in the order of own_ready_ns.
using Exchanges = std::vector<std::vector<Exchange>>;

Exchanges exchanges_of(const RunData& run, const Clocks& clocks);

// What the main threads worked inside the steps, in nanoseconds: of each node that of the process
// whose worked most. Unknown where GPUs compute, since it does not show that, and where it was not
// counted.
using Worked = std::vector<std::optional<double>>;

// What Exchange::number is of this row.
std::int64_t number_of(const record::Collective& row);

}  // namespace chokepoint::analysis
