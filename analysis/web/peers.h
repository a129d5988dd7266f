// Which hosts of a history are unlike the others: the same test, on four hosts or more. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/history/store.h"
#include "base/trends/peers.h"

namespace chokepoint::analysis::web {

struct HostUnlikePeers {
  std::string host = {};
  std::string metric = {};
  std::string setting = {};
  trends::UnusualPeer unusual = {};
  double value = 0;
};

// A host's value is the median of its series' newest points, of those that were measured from
// `since_ns` to `now_ns`.
std::vector<HostUnlikePeers> hosts_unlike_peers(std::span<const history::MeasuredSeries> all,
                                                std::int64_t since_ns, std::int64_t now_ns);

}  // namespace chokepoint::analysis::web
