#include "base/host/network.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/host/words.h"

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

}  // namespace chokepoint::host
