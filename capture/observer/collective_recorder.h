// Keeps Gloo's collectives in a run record. Called under the ledger's lock, so by one thread at a
// time; the writer and the flows outlive it.
#pragma once

#include <cstdint>

#include "base/record/samples.h"
#include "base/record/writer.h"
#include "capture/gloo/collectives.h"
#include "capture/observer/connection_flows.h"

namespace chokepoint::capture::observer {

class CollectiveRecorder {
 public:
  CollectiveRecorder(record::Writer& writer, const ConnectionFlows& flows,
                     std::int64_t wall_to_monotonic_ns);

  // Returns the row.
  record::Collective keep(const gloo::Collective& collective);

 private:
  record::Collective row_of(const gloo::Collective& collective) const;
  record::Figure monotonic(std::int64_t wall_ns) const;

  record::Producer producer_;
  const ConnectionFlows& flows_;
  std::int64_t wall_to_monotonic_ns_;
};

}  // namespace chokepoint::capture::observer
