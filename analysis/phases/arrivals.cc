#include "analysis/phases/arrivals.h"

#include <algorithm>

namespace chokepoint::analysis {

Spans untold_arrivals(const RunData& run, const Clocks& clocks) {
  Spans untold;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    for (const record::Collective& row : run.nodes[place].collectives) {
      if (row.source == record::CollectiveSource::Nccl && !row.own_ready_ns.known()) {
        const std::int64_t start_ns = clocks.common_ns(place, row.start_ns);
        const std::int64_t end_ns = clocks.common_ns(place, row.end_ns);
        untold.push_back({start_ns, std::max(end_ns, start_ns + 1)});
      }
    }
  }
  return united(std::move(untold));
}

}  // namespace chokepoint::analysis
