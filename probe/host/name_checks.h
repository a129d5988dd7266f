// Would the ranks of a job on this host be found by their peers? Gloo binds the first address of
// the host's own name that is the host's, and falls back to loopback; which family that is decides
// whether two hosts meet. Pure.
#pragma once

#include <optional>

#include "base/host/network.h"
#include "base/host/own_name.h"
#include "base/host/process.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_names(const host::OwnName& own, const host::Addresses& addresses,
                 const host::Process& process, Checks& checks);

// What Gloo binds without being told an interface; nothing where none of them can be bound.
std::optional<net::Address> address_gloo_binds(const host::OwnName& own,
                                               const host::Addresses& addresses);

// The interface to name to Gloo and NCCL: that of the default route, else of the first address that
// peers can reach.
std::optional<std::string> best_interface(const host::Addresses& addresses);

}  // namespace chokepoint::probe
