// What sort of interface a folder of /sys/class/net describes. Reads below the given root only.
#pragma once

#include <string>

#include "base/host/nic.h"
#include "base/sys/root.h"

namespace chokepoint::host {

NicKind read_kind(const sys::Root& root, const std::string& name);

}  // namespace chokepoint::host
