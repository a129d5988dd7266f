// Which of this host's interfaces would a job use, and do they agree with each other?
// host.interfaces, host.subnets, host.mtu-mismatch. Pure: facts in, checks out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/network.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

// What decides the interface of a job that is started here.
struct JobDefaults {
  std::optional<std::string> told_interface = {};  // GLOO_SOCKET_IFNAME
  std::vector<net::Address> own_addresses = {};    // what the host's own name leads to
};

void check_interfaces(const host::Network& network, const JobDefaults& defaults, Checks& checks);
void check_subnets(const host::Network& network, Checks& checks);
void check_mtu_mismatch(const host::Network& network, Checks& checks);

}  // namespace chokepoint::probe
