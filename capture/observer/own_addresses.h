// This host's addresses as packets carry them: they tell which end of a flow is here.
#pragma once

#include <vector>

#include "base/sys/root.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

// Empty where they cannot be told.
std::vector<packet::Address> own_addresses(const sys::Root& root);

}  // namespace chokepoint::capture::observer
