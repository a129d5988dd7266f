// Checks of every interface (nic_checks.h, nic_setting_checks.h, base/checks), and of the
// interfaces together: which one a job would use, and whether they agree with each other. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/network.h"
#include "base/net/address.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

struct JobDefaults {
  std::optional<std::string> named_interface = {};  // GLOO_SOCKET_IFNAME
  std::vector<net::Address> own_addresses = {};     // that the host's own name resolves to
  std::optional<std::string> named_devices = {};    // NCCL_IB_HCA
};
void check_network(const host::Network& network, const JobDefaults& defaults, Checks& checks);
void check_interfaces(const host::Network& network, const JobDefaults& defaults, Checks& checks);
void check_subnets(const host::Network& network, Checks& checks);
void check_mtu_mismatch(const host::Network& network, Checks& checks);
// A port that a card with two PCIe links shows as two interfaces: nic.halves of the first of them.
void check_halves(const host::Network& network, const host::Nic& nic, const JobDefaults& defaults,
                  Checks& checks);
// A bridge whose other ends are all in this host, as those of container engines.
bool ends_in_host(const host::Network& network, const host::Nic& nic);

}  // namespace chokepoint::probe
