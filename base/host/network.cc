#include "base/host/network.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <set>
#include <sstream>

namespace chokepoint::host {
namespace {

constexpr std::string_view kInterfaces = "/sys/class/net";
// A file that the bonding driver keeps among the interfaces.
constexpr std::string_view kBondingMasters = "bonding_masters";

// Where sysfs shows no interface, as in some containers, procfs still names them.
std::vector<std::string> names_in_procfs(const sys::Root& root) {
  std::istringstream lines(root.read("/proc/net/dev").value_or(""));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
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

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
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
  std::istringstream lines{std::string(routes)};
  for (std::string line; std::getline(lines, line);) {
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
  std::istringstream lines{std::string(routes)};
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 10 && words[1] == "00" &&
        words[0].find_first_not_of('0') == words[0].npos) {
      prefer(best, words[9], std::strtoul(words[5].c_str(), nullptr, 16));
    }
  }
  return best;
}

// Every address that /etc/hosts gives to a name, in its order.
std::vector<std::string> addresses_of_name(const std::string& hosts, const std::string& name) {
  std::vector<std::string> addresses;
  std::istringstream lines(hosts);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
    if (words.size() > 1 &&
        std::ranges::find(words.begin() + 1, words.end(), name) != words.end()) {
      addresses.push_back(words[0]);
    }
  }
  return addresses;
}

bool owns(const Nic& nic, const net::Address& address) {
  return std::ranges::find(nic.settings.addresses, address, &net::InterfaceAddress::address) !=
         nic.settings.addresses.end();
}

std::optional<std::string> interface_of_name(const sys::Root& root, const std::vector<Nic>& nics) {
  const auto name = root.text("/proc/sys/kernel/hostname");
  const auto hosts = root.text("/etc/hosts");
  if (!name || !hosts) {
    return std::nullopt;
  }
  for (const std::string& address : addresses_of_name(*hosts, *name)) {
    const Result<net::Address> parsed = net::Address::parse(address);
    const auto owner =
        std::ranges::find_if(nics, [&](const Nic& nic) { return parsed && owns(nic, *parsed); });
    if (owner != nics.end()) {
      return owner->name;
    }
  }
  return std::nullopt;
}

int count_nodes(const sys::Root& root) {
  return static_cast<int>(
      std::ranges::count_if(root.list("/sys/devices/system/node"), [](const std::string& name) {
        return name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
      }));
}

// Ports share the hops above them: each fact is told once.
void append_pci_facts(const Network& network, Facts& facts) {
  Facts all;
  for (const Nic& nic : network.nics) {
    if (nic.pci) {
      append_facts(*nic.pci, all);
    }
  }
  std::set<std::pair<std::string, std::string>> told;
  for (Fact& fact : all) {
    if (told.emplace(fact.subject, fact.key).second) {
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
  network.name_interface = interface_of_name(root, network.nics);
  const auto online = root.text("/sys/devices/system/cpu/online").and_then(parse_cpu_list);
  network.cpus = online ? static_cast<int>(online->size()) : 0;
  network.numa_nodes = count_nodes(root);
  return network;
}

void append_facts(const Network& network, Facts& facts) {
  if (network.default_route) {
    facts.push_back({"nic", "", "default_route", *network.default_route, "/proc/net/route"});
  }
  if (network.name_interface) {
    facts.push_back({"nic", "", "name_interface", *network.name_interface, "/etc/hosts"});
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

}  // namespace chokepoint::host
