// Tunnels by the names that --decapsulate has for them.
#pragma once

#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/packet/decoder.h"

namespace chokepoint::capture {

// Each may be a list by comma: "vxlan,gre". Mistakes are of kind Usage.
Result<packet::Tunnels> tunnels_named(const std::vector<std::string>& lists);

}  // namespace chokepoint::capture
