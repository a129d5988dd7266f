// The TCP connections of this process that came up since a moment: a library opens its own, and
// does not say which. By the descriptors of /proc/self/fd. Any thread.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "base/net/address.h"

namespace chokepoint::probe::collective {

struct Connection {
  net::Endpoint local;
  net::Endpoint peer;

  bool operator==(const Connection&) const = default;
};

class ConnectionsSince {
 public:
  ConnectionsSince();

  std::vector<Connection> now() const;

 private:
  std::set<std::uint64_t> before_;  // sockets, by inode
};

}  // namespace chokepoint::probe::collective
