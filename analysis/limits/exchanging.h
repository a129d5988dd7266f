// Which connections the ranks' exchanges may wait for: not copies through memory where others go
// between hosts; nor, where the library's messages say who exchanges and each rank left a record,
// those to hosts without a rank, as to a store. Borrows the run; any thread.
#pragma once

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Both ends are on one node: copies through memory.
bool is_within_host(const Connection& connection);

class Exchanging {
 public:
  explicit Exchanging(const RunData& run);

  bool includes(const Connection& connection) const;

 private:
  bool is_between_nodes(const Connection& connection) const;

  const RunData& run_;
  bool is_between_hosts_;
  bool knows_all_;
};

}  // namespace chokepoint::analysis
