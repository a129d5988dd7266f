#include "base/host/network.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string_view>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";
// A file that the bonding driver keeps among the interfaces.
constexpr std::string_view kBondingMasters = "bonding_masters";

// Where sysfs shows no interface, as in some containers, procfs still names them.
std::vector<std::string> names_in_procfs(const sys::Root& root) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(root.read("/proc/net/dev").value_or(""))) {
    const std::size_t colon = line.find(':');
    const std::size_t start = line.find_first_not_of(' ');
    if (colon != std::string::npos && start < colon) {
      names.push_back(line.substr(start, colon - start));
    }
  }
  return names;
}

std::vector<std::string> interface_names(const sys::Root& root) {
  std::vector<std::string> names = root.list(kInterfaces);
  std::erase(names, kBondingMasters);
  return names.empty() ? names_in_procfs(root) : names;
}

struct Route {
  std::string interface;
  unsigned long metric = std::numeric_limits<unsigned long>::max();
};

void prefer(Route& best, const std::string& interface, unsigned long metric) {
  if (interface != "lo" && (best.interface.empty() || metric < best.metric)) {
    best = {interface, metric};
  }
}

// Interface, destination, gateway, flags, references, use, metric, mask …
Route best_ipv4(std::string_view routes) {
  Route best;
  for (const std::string& line : lines_of(routes)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000") {
      prefer(best, words[0], std::strtoul(words[6].c_str(), nullptr, 10));
    }
  }
  return best;
}

// Destination, prefix, source, prefix, next hop, metric, references, use, flags, interface
Route best_ipv6(std::string_view routes) {
  Route best;
  for (const std::string& line : lines_of(routes)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 10 && words[1] == "00" &&
        words[0].find_first_not_of('0') == words[0].npos) {
      prefer(best, words[9], std::strtoul(words[5].c_str(), nullptr, 16));
    }
  }
  return best;
}

int count_nodes(const sys::Root& root) {
  return static_cast<int>(
      std::ranges::count_if(root.list("/sys/devices/system/node"), [](const std::string& name) {
        return name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
      }));
}

// Ports share the hops above them: each fact is listed once.
void append_pci_facts(const Network& network, Facts& facts) {
  Facts all;
  for (const Nic& nic : network.nics) {
    if (nic.pci) {
      append_facts(*nic.pci, all);
    }
  }
  std::set<std::pair<std::string, std::string>> listed;
  for (Fact& fact : all) {
    if (listed.emplace(fact.subject, fact.key).second) {
      facts.push_back(std::move(fact));
    }
  }
}

}  // namespace

Network read_network(const sys::Root& root) { return read_network(root, *link_query_for(root)); }

Network read_network(const sys::Root& root, const LinkQuery& query) {
  const InterruptTable interrupts = read_interrupts(root);
  Network network{.query_source = query.source(), .query_problem = query.problem()};
  for (const std::string& name : interface_names(root)) {
    network.nics.push_back(read_nic(root, query, interrupts, name));
  }
  network.default_route = default_route_in(root.read("/proc/net/route").value_or(""),
                                           root.read("/proc/net/ipv6_route").value_or(""));
  const auto online = root.text("/sys/devices/system/cpu/online");
  network.cpus = static_cast<int>(cpus_of(online.value_or("")).size());
  network.numa_nodes = count_nodes(root);
  return network;
}

void append_facts(const Network& network, Facts& facts) {
  if (network.default_route) {
    facts.push_back({"nic", "", "default_route", *network.default_route, "/proc/net/route"});
  }
  for (const Nic& nic : network.nics) {
    append_facts(nic, network.query_source, facts);
  }
  append_pci_facts(network, facts);
}

const Nic* find(const Network& network, std::string_view name) {
  const auto found = std::ranges::find(network.nics, name, &Nic::name);
  return found == network.nics.end() ? nullptr : &*found;
}

std::optional<std::int64_t> speed_mbps(const Network& network, const Nic& nic) {
  if (nic.speed_mbps) {
    return nic.speed_mbps;
  }
  std::optional<std::int64_t> sum;
  for (const std::string& name : nic.lower) {
    const Nic* lower = find(network, name);
    if (lower != nullptr && is_up(*lower) && lower->speed_mbps) {
      sum = sum.value_or(0) + *lower->speed_mbps;
    }
  }
  return sum;
}

std::optional<std::string> default_route_in(std::string_view ipv4_routes,
                                            std::string_view ipv6_routes) {
  const Route ipv4 = best_ipv4(ipv4_routes);
  const Route best = ipv4.interface.empty() ? best_ipv6(ipv6_routes) : ipv4;
  return best.interface.empty() ? std::nullopt : std::optional(best.interface);
}

namespace {

template <class T>
void keep_larger(std::optional<T>& kept, T value) {
  kept = std::max(kept.value_or(value), value);
}

// Backed by a device of this host, or made of such.
bool leads_out(NicKind kind) {
  switch (kind) {
    case NicKind::Physical:
    case NicKind::VirtualFunction:
    case NicKind::Paravirtual:
    case NicKind::Infiniband:
    case NicKind::Usb:
    case NicKind::Wireless:
    case NicKind::Bond:
      return true;
    case NicKind::Unknown:
    case NicKind::Bridge:
    case NicKind::Vlan:
    case NicKind::Veth:
    case NicKind::Tunnel:
    case NicKind::Loopback:
    case NicKind::Virtual:
      break;
  }
  return false;
}

}  // namespace

Links links_of(const Network& network) {
  Links links;
  for (const Nic& nic : network.nics) {
    if (!leads_out(nic.kind)) {
      continue;
    }
    if (nic.speed_mbps) {
      keep_larger(links.fastest_mbps, static_cast<double>(*nic.speed_mbps));
    }
    if (nic.mtu) {
      keep_larger(links.largest_mtu_bytes, *nic.mtu);
    }
  }
  return links;
}

namespace {

constexpr std::string_view kRoutes4 = "/proc/net/route";
constexpr std::string_view kRoutes6 = "/proc/net/ipv6_route";
constexpr std::string_view kAddresses6 = "/proc/net/if_inet6";
constexpr std::string_view kTrie = "/proc/net/fib_trie";
constexpr unsigned kRouteUp = 1;
constexpr unsigned kRouteReject = 0x200;

std::optional<net::Address> address_of(const sockaddr* address) {
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return net::Address::v4(in.sin_addr);
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    return net::Address::v6(in.sin6_addr, in.sin6_scope_id);
  }
  return std::nullopt;
}

std::optional<std::vector<InterfaceAddress>> ask_kernel() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (const std::optional<net::Address> ip = address_of(entry->ifa_addr)) {
      addresses.push_back({entry->ifa_name, *ip});
    }
  }
  return addresses;
}

std::optional<net::Address> address_of_hex(std::string_view hex) {
  in6_addr address{};
  if (hex.size() != 2 * sizeof address.s6_addr) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < sizeof address.s6_addr; ++i) {
    const std::optional<std::int64_t> byte = number_of(hex.substr(2 * i, 2), 16);
    if (!byte) {
      return std::nullopt;
    }
    address.s6_addr[i] = static_cast<std::uint8_t>(*byte);
  }
  return net::Address::v6(address, 0);
}

// "fe80000000000000… 04 40 20 80     eth0"
void append_if_inet6(const std::string& text, std::vector<InterfaceAddress>& addresses) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 6) {
      continue;
    }
    if (const std::optional<net::Address> ip = address_of_hex(words[0])) {
      addresses.push_back({words[5], *ip});
    }
  }
}

// "|-- 192.0.2.2" followed by "/32 host LOCAL": an address of this host, whichever its interface.
void append_fib_trie(const std::string& text, std::vector<InterfaceAddress>& addresses) {
  std::optional<net::Address> last;
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == "|--") {
      const Result<net::Address> address = net::Address::parse(words[1]);
      last = address ? std::optional(*address) : std::nullopt;
    } else if (last && words.size() >= 3 && words[0] == "/32" && words[2] == "LOCAL" &&
               std::ranges::find(addresses, *last, &InterfaceAddress::address) == addresses.end()) {
      addresses.push_back({"", *last});
    }
  }
}

std::optional<std::vector<InterfaceAddress>> read_files(const sys::Root& root) {
  const Result<std::string> trie = root.read(kTrie);
  const Result<std::string> inet6 = root.read(kAddresses6);
  if (!trie && !inet6) {
    return std::nullopt;
  }
  std::vector<InterfaceAddress> addresses;
  append_fib_trie(trie.value_or(""), addresses);
  append_if_inet6(inet6.value_or(""), addresses);
  return addresses;
}

bool is_usable(std::string_view flags) {
  const auto bits = static_cast<unsigned>(number_of(flags, 16).value_or(0));
  return (bits & kRouteUp) != 0 && (bits & kRouteReject) == 0;
}

// Iface Destination Gateway Flags RefCnt Use Metric Mask …
void append_routes4(const std::string& text, std::vector<DefaultRoute>& routes) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000" &&
        is_usable(words[3])) {
      routes.push_back({words[0], net::Family::Ipv4});
    }
  }
}

// destination length source length next-hop metric references use flags interface
void append_routes6(const std::string& text, std::vector<DefaultRoute>& routes) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 10 && words[0] == std::string(32, '0') && words[1] == "00" &&
        words[9] != "lo" && is_usable(words[8])) {
      routes.push_back({words[9], net::Family::Ipv6});
    }
  }
}

std::optional<std::vector<DefaultRoute>> read_routes(const sys::Root& root) {
  const Result<std::string> four = root.read(kRoutes4);
  const Result<std::string> six = root.read(kRoutes6);
  if (!four && !six) {
    return std::nullopt;
  }
  std::vector<DefaultRoute> routes;
  append_routes4(four.value_or(""), routes);
  append_routes6(six.value_or(""), routes);
  return routes;
}

}  // namespace

bool is_routable(const net::Address& address) {
  return !address.is_loopback() && !address.is_link_local() && !address.is_unspecified() &&
         !address.is_multicast();
}

Addresses read_addresses(const sys::Root& root) {
  return {.addresses = root.is_live() ? ask_kernel() : read_files(root),
          .default_routes = read_routes(root),
          .interfaces = root.list(kInterfaces)};
}

void append_facts(const Addresses& addresses, Facts& facts) {
  for (const InterfaceAddress& one :
       addresses.addresses.value_or(std::vector<InterfaceAddress>())) {
    FactList(facts, "address", one.interface)
        .add_text("address", one.address.text(), "getifaddrs, /proc/net");
  }
  for (const DefaultRoute& route : addresses.default_routes.value_or(std::vector<DefaultRoute>())) {
    const bool four = route.family == net::Family::Ipv4;
    FactList(facts, "route", route.interface)
        .add_text("default", std::string(net::name_of(route.family)), four ? kRoutes4 : kRoutes6);
  }
}

bool is_reachable(const Addresses& addresses, net::Family family) {
  return addresses.addresses &&
         std::ranges::any_of(*addresses.addresses, [&](const InterfaceAddress& one) {
           return one.address.family() == family && is_routable(one.address);
         });
}

bool has_default_route(const Addresses& addresses, net::Family family) {
  return addresses.default_routes &&
         std::ranges::find(*addresses.default_routes, family, &DefaultRoute::family) !=
             addresses.default_routes->end();
}

}  // namespace chokepoint::host
