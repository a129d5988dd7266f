// Routes, forwarding and address families; the interfaces that the environment names to Gloo and
// NCCL; and whether peers find the ranks of this host. Gloo binds the first address of the host's
// own name that an interface has, else loopback; its family decides whether two hosts can connect.
// Pure.
#pragma once

#include <optional>
#include <string>

#include "base/host/inventory.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

void check_ip(const host::Addresses& addresses, const host::Sysctls& sysctls, Checks& checks);
void check_interface_choice(const host::Addresses& addresses, const host::Network& network,
                            const host::Process& process, Checks& checks);
void check_names(const host::OwnName& own, const host::Addresses& addresses,
                 const host::Process& process, Checks& checks);
// The address that Gloo binds if no interface is named to it; nullopt if it can bind none.
std::optional<net::Address> address_gloo_binds(const host::OwnName& own,
                                               const host::Addresses& addresses);
// The interface to name to Gloo and NCCL: that of the default route, else of the first address that
// peers can reach.
std::optional<std::string> best_interface(const host::Addresses& addresses);

}  // namespace chokepoint::probe
