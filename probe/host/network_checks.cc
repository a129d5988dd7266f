#include "probe/host/network_checks.h"

#include <algorithm>

#include "base/checks/pci_checks.h"
#include "probe/host/irq_checks.h"
#include "probe/host/nic_counter_checks.h"
#include "probe/host/nic_link_checks.h"
#include "probe/host/nic_setting_checks.h"

namespace chokepoint::probe {
namespace {

void check_nic(const host::Network& network, const host::Nic& nic, Checks& checks) {
  check_link(nic, checks);
  check_speed(network, nic, checks);
  check_duplex(nic, checks);
  check_mtu(nic, checks);
  check_bond(network, nic, checks);
  check_pci_link(nic, checks);
  check_pci_bandwidth(nic, checks);
  check_pci_shared(network, nic, checks);
  check_pci_errors(nic, checks);
  check_settings_readable(network, nic, checks);
  check_rings(nic, checks);
  check_queues(network, nic, checks);
  check_irq(network, nic, checks);
  check_nic_numa(network, nic, checks);
  check_coalescing(nic, checks);
  check_offloads(nic, checks);
  check_qdisc(nic, checks);
  check_errors(nic, checks);
  check_drops(nic, checks);
  check_pauses(nic, checks);
  check_flaps(nic, checks);
}

bool reaches_others(const host::Nic& nic) { return nic.kind != host::NicKind::Loopback; }

void check_presence(const host::Network& network, Checks& checks) {
  if (std::ranges::any_of(network.nics, reaches_others)) {
    return;
  }
  checks.push_back(
      {.id = "nic.link",
       .status = Status::Unknown,
       .subject = "host",
       .why = "no interface but loopback can be seen: a container without the host's "
              "network or without /sys",
       .next_step = "run on the host itself, or with --network=host and /sys mounted"});
}

}  // namespace

void check_network(const host::Network& network, const JobDefaults& defaults, Checks& checks) {
  check_presence(network, checks);
  for (const host::Nic& nic : network.nics) {
    check_nic(network, nic, checks);
  }
  check_interfaces(network, defaults, checks);
  check_subnets(network, checks);
  check_mtu_mismatch(network, checks);
}

}  // namespace chokepoint::probe
