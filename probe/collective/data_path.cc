#include "probe/collective/data_path.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "base/net/socket.h"
#include "base/sys/root.h"

namespace chokepoint::probe::collective {
namespace {

using host::Nic;
using host::NicKind;

std::vector<int> own_descriptors() {
  std::vector<int> numbers;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", problem)) {
    const std::string name = entry.path().filename().string();
    int number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ec == std::errc()) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::optional<std::uint64_t> tcp_socket(int fd) {
  struct stat state{};
  int protocol = 0;
  socklen_t size = sizeof protocol;
  if (fstat(fd, &state) != 0 || !S_ISSOCK(state.st_mode) ||
      getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP) {
    return std::nullopt;
  }
  return state.st_ino;
}

// nullopt: not connected.
std::optional<Connection> connection_of(int fd) {
  const Result<net::Endpoint> local = net::local_endpoint(fd);
  const Result<net::Endpoint> peer = net::peer_endpoint(fd);
  if (!local || !peer) {
    return std::nullopt;
  }
  return Connection{.local = {local->address.unmapped(), local->port},
                    .peer = {peer->address.unmapped(), peer->port}};
}

constexpr const char* kLoopback = "lo";

bool is_own(const net::Address& address, const host::Addresses& addresses) {
  return address.is_loopback() || !interface_of(address, addresses).empty();
}

// Traffic to an address of this host passes loopback, whatever its source address.
std::string interface_of(const Connection& connection, const host::Addresses& addresses) {
  return is_own(connection.peer.address, addresses)
             ? kLoopback
             : collective::interface_of(connection.local.address, addresses);
}

// The interface with most connections first.
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

std::optional<double> speed_of(const std::string& interface, const host::Network& network) {
  const host::Nic* nic = host::find(network, interface);
  const std::optional<std::int64_t> speed =
      nic == nullptr ? std::nullopt : host::speed_mbps(network, *nic);
  return speed ? std::optional(static_cast<double>(*speed)) : std::nullopt;
}

// Hardware whose speed it reports is below it.
bool has_hardware(const host::Network& network, const Nic& nic) {
  if (nic.kind == NicKind::Vlan) {
    return std::ranges::any_of(nic.lower, [&](const std::string& name) {
      const Nic* below = host::find(network, name);
      return below != nullptr && below->kind != NicKind::Vlan && has_hardware(network, *below);
    });
  }
  return host::is_port(nic) || nic.kind == NicKind::Bond || nic.kind == NicKind::Paravirtual;
}

bool has_routable_address(const Nic& nic, const host::Addresses& addresses) {
  return addresses.addresses &&
         std::ranges::any_of(*addresses.addresses, [&](const host::InterfaceAddress& each) {
           return each.interface == nic.name && host::is_routable(each.address);
         });
}

double speed_of(const host::Network& network, const Nic& nic) {
  return static_cast<double>(host::speed_mbps(network, nic).value_or(0));
}

// The fastest usable interface; null: none.
const Nic* best_of(const HostNetwork& host) {
  const Nic* best = nullptr;
  for (const Nic& nic : host.network.nics) {
    if (!host::is_up(nic) || !has_hardware(host.network, nic) ||
        !has_routable_address(nic, host.addresses)) {
      continue;
    }
    if (best == nullptr || speed_of(host.network, nic) > speed_of(host.network, *best)) {
      best = &nic;
    }
  }
  return best;
}

// Interfaces of software alone (networks of containers and virtual machines, tunnels) and slow
// ones.
std::optional<std::string_view> detour_of(const Nic& nic) {
  switch (nic.kind) {
    case NicKind::Bridge:
      return "a bridge";
    case NicKind::Tunnel:
      return "a tunnel";
    case NicKind::Virtual:
      return "a virtual interface";
    case NicKind::Usb:
      return "a USB interface, mostly for management";
    case NicKind::Wireless:
      return "wireless";
    default:
      return std::nullopt;
  }
}

std::string how_to_choose(const Nic& nic, const InterfaceHints& hints) {
  return fmt::format("set {}={}{} where the other hosts are reached by it, too", hints.variable,
                     hints.by_prefix ? "=" : "", nic.name);
}

}  // namespace

ConnectionsSince::ConnectionsSince() {
  for (const int fd : own_descriptors()) {
    if (const std::optional<std::uint64_t> inode = tcp_socket(fd)) {
      before_.insert(*inode);
    }
  }
}

std::vector<Connection> ConnectionsSince::now() const {
  std::vector<Connection> found;
  for (const int fd : own_descriptors()) {
    const std::optional<std::uint64_t> inode = tcp_socket(fd);
    if (!inode || before_.contains(*inode)) {
      continue;
    }
    if (const std::optional<Connection> connection = connection_of(fd)) {
      found.push_back(*connection);
    }
  }
  return found;
}

HostNetwork live_host() {
  const sys::Root root;
  return {.network = host::read_network(root), .addresses = host::read_addresses(root)};
}

InterfaceHints gloo_hints() { return {.variable = "GLOO_SOCKET_IFNAME"}; }
InterfaceHints nccl_hints() { return {.variable = "NCCL_SOCKET_IFNAME", .by_prefix = true}; }

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

DataPath data_path_of_sockets(const std::vector<Connection>& connections, int ranks,
                              const HostNetwork& host, const InterfaceHints& hints) {
  DataPath data_path;
  if (connections.empty()) {
    return data_path;
  }
  const std::vector<std::string> interfaces = interfaces_of(connections, host.addresses);
  const Connection& first = connections.front();
  data_path.transport = "tcp";
  data_path.interface = fmt::format("{}", fmt::join(interfaces, ","));
  data_path.family = name_of(first.local.address.family());
  data_path.local_address = first.local.address.text();
  data_path.sockets_per_peer =
      std::max(1, static_cast<int>(connections.size()) / std::max(ranks - 1, 1));
  if (!interfaces.empty()) {
    data_path.link_mbps = speed_of(interfaces.front(), host.network);
    data_path.better = better_than(interfaces.front(), host, hints);
  }
  return data_path;
}

std::string better_than(const std::string& interface, const HostNetwork& host,
                        const InterfaceHints& hints) {
  const Nic* used = host::find(host.network, interface);
  const Nic* best = best_of(host);
  if (used == nullptr || best == nullptr || used == best || used->kind == NicKind::Loopback) {
    return {};
  }
  if (const std::optional<std::string_view> detour = detour_of(*used)) {
    return fmt::format("{} is {}, and {} is a port of this host: {}", interface, *detour,
                       best->name, how_to_choose(*best, hints));
  }
  const double speed = speed_of(host.network, *used);
  const double best_speed = speed_of(host.network, *best);
  if (speed <= 0 || best_speed <= speed) {
    return {};
  }
  return fmt::format("{} runs at {:.0f} Mb/s, and {} at {:.0f} Mb/s: {}", interface, speed,
                     best->name, best_speed, how_to_choose(*best, hints));
}

}  // namespace chokepoint::probe::collective
