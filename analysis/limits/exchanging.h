// Which connections the ranks' exchanges may wait for. Left out are copies through memory, if
// other connections go between hosts; and connections to hosts without a rank, such as a store, if
// the library's messages show who exchanges and each rank left a record; and what ranks send each
// other beside their exchanges, such as weights. Borrows the run; any thread.
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
