// The fastest link and the largest MTU of this host: what its TCP settings have to carry.
// Derived; a pure function.
#pragma once

#include <cstdint>
#include <optional>

#include "base/host/network.h"

namespace chokepoint::host {

struct Links {
  std::optional<double> fastest_mbps;
  std::optional<std::int64_t> largest_mtu_bytes;
};

// Of the physical interfaces and bonds; loopback and what is only virtual do not count.
Links links_of(const Network& network);

}  // namespace chokepoint::host
