// The fastest link and the largest MTU of this host: what its TCP settings have to carry. Reads
// under the given root only.
#pragma once

#include <cstdint>
#include <optional>

#include "base/sys/root.h"

namespace chokepoint::host {

struct Links {
  std::optional<double> fastest_mbps;
  std::optional<std::int64_t> largest_mtu_bytes;
};

// Of the physical interfaces and bonds; loopback and what is only virtual do not count.
Links read_links(const sys::Root& root);

}  // namespace chokepoint::host
