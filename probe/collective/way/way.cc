#include "probe/collective/way/way.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/sys/root.h"

namespace chokepoint::probe::collective {
namespace {

constexpr const char* kLoopback = "lo";

bool is_own(const net::Address& address, const host::Addresses& addresses) {
  return address.is_loopback() || !interface_of(address, addresses).empty();
}

// What this host sends to an address of its own passes loopback, whatever address it comes from.
std::string interface_of(const Connection& connection, const host::Addresses& addresses) {
  return is_own(connection.peer.address, addresses)
             ? kLoopback
             : collective::interface_of(connection.local.address, addresses);
}

// Names, those of most connections first.
std::vector<std::string> interfaces_of(const std::vector<Connection>& connections,
                                       const host::Addresses& addresses) {
  std::map<std::string, int> uses;
  for (const Connection& each : connections) {
    ++uses[interface_of(each, addresses)];
  }
  uses.erase("");
  std::vector<std::string> names;
  for (const auto& [name, count] : uses) {
    names.push_back(name);
  }
  std::ranges::stable_sort(names, std::greater<>(), [&](const auto& name) { return uses[name]; });
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

std::optional<double> speed_of(const std::string& interface, const host::Network& network) {
  const host::Nic* nic = host::find(network, interface);
  const std::optional<std::int64_t> speed =
      nic == nullptr ? std::nullopt : host::speed_mbps(network, *nic);
  return speed ? std::optional(static_cast<double>(*speed)) : std::nullopt;
}

}  // namespace

HostNetwork live_host() {
  const sys::Root root;
  return {.network = host::read_network(root), .addresses = host::read_addresses(root)};
}

WayHints gloo_hints() { return {.variable = "GLOO_SOCKET_IFNAME"}; }
WayHints nccl_hints() { return {.variable = "NCCL_SOCKET_IFNAME", .by_prefix = true}; }

std::string interface_of(const net::Address& address, const host::Addresses& addresses) {
  if (!addresses.addresses) {
    return {};
  }
  for (const host::InterfaceAddress& each : *addresses.addresses) {
    if (each.address.bytes() == address.bytes() && each.address.family() == address.family()) {
      return each.interface;
    }
  }
  return {};
}

Way way_of_sockets(const std::vector<Connection>& connections, int ranks, const HostNetwork& host,
                   const WayHints& hints) {
  Way way;
  if (connections.empty()) {
    return way;
  }
  const std::vector<std::string> interfaces = interfaces_of(connections, host.addresses);
  const Connection& first = connections.front();
  way.transport = "tcp";
  way.interface = joined(interfaces);
  way.family = name_of(first.local.address.family());
  way.local_address = first.local.address.text();
  way.sockets_per_peer = std::max(1, static_cast<int>(connections.size()) / std::max(ranks - 1, 1));
  if (!interfaces.empty()) {
    way.link_mbps = speed_of(interfaces.front(), host.network);
    way.better = better_than(interfaces.front(), host, hints);
  }
  return way;
}

}  // namespace chokepoint::probe::collective
