// What the names of the hosts lead to here, where the preflight is started. A name that leads only
// to loopback leads to this host: whatever answered there would be taken for the host that is
// meant.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

// May block. `own` is this host's name.
Result<std::vector<net::Address>> resolve_here(const std::string& name,
                                               std::optional<net::Family> only,
                                               const std::string& own);

// Loopback is right for the own name, with or without a domain, and for localhost.
bool may_be_loopback(const std::string& name, const std::string& own);

}  // namespace chokepoint::preflight
