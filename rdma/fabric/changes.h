// What a port counted during a test. Sent by the server to the client, so that one side tells of
// both; what a peer sends is bounded and checked. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/control/message.h"
#include "base/sys/error.h"
#include "rdma/fabric/counters.h"

namespace chokepoint::rdma::fabric {

struct Changes {
  std::string subject = {};                         // "mlx5_0/1"
  std::string netdev = {};                          // empty: none is known
  std::map<std::string, std::uint64_t> grown = {};  // only what changed
  std::set<std::string> still = {};                 // is counted and did not change
  std::set<std::string> lost = {};                  // began anew, or could not be read afterwards

  // Nothing where it is not counted or was lost; 0 where it stood still.
  std::optional<std::uint64_t> of(std::string_view name) const;
};

Changes changes(const PortCounters& before, const PortCounters& after);

control::Json body_of(const Changes& changes);
Result<Changes> changes_in(const control::Json& body);

}  // namespace chokepoint::rdma::fabric
