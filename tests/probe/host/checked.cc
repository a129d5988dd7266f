#include "tests/probe/host/checked.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/host/inventory.h"
#include "probe/host/network_checks.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {

host::Network network_of(const std::string& fixture) {
  return host::read_network(fakes::HostTree::from_fixture(fixture).root());
}

Checks checked_fixture(const std::string& name) {
  const auto tree = fakes::HostTree::from_fixture(name);
  const sys::Root root = tree.root();
  const host::OwnName own = host::read_own_name(root);
  Checks checks;
  check_network(host::read_network(root),
                {.own_addresses = own.addresses.value_or(std::vector<net::Address>())}, checks);
  return checks;
}

Check find_check(const Checks& checks, std::string_view id, std::string_view subject) {
  const auto found = std::ranges::find_if(
      checks, [&](const Check& check) { return check.id == id && check.subject == subject; });
  if (found == checks.end()) {
    ADD_FAILURE() << "no check " << id << " of " << subject;
    return {};
  }
  return *found;
}

bool has_check(const Checks& checks, std::string_view id) {
  return std::ranges::find(checks, id, &Check::id) != checks.end();
}

host::Nic sound_port(std::int64_t speed_mbps) {
  host::Nic nic{.name = "eth0",
                .kind = host::NicKind::Physical,
                .enabled = true,
                .carrier = true,
                .speed_mbps = speed_mbps,
                .duplex = "full",
                .mtu = 9000};
  nic.settings.modes = {.speed_mbps = speed_mbps, .fastest_mbps = speed_mbps};
  nic.counters = {{"rx_packets", 50'000'000}, {"tx_packets", 50'000'000}};
  return nic;
}

}  // namespace chokepoint::probe
