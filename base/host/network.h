// Every interface of this host, and which of them a job meets first. A value, read once below the
// given root.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/host/nic.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct Network {
  std::vector<Nic> nics = {};
  std::string query_source = {};                  // where settings come from: "ethtool"
  std::optional<std::string> query_problem = {};  // why there are none
  std::optional<std::string> default_route = {};  // the interface of the preferred default route
  int cpus = 0;                                   // that are online; 0 where it cannot be told
  int numa_nodes = 0;
};

Network read_network(const sys::Root& root);
Network read_network(const sys::Root& root, const LinkQuery& query);
void append_facts(const Network& network, Facts& facts);

const Nic* find(const Network& network, std::string_view name);

// The speed of an interface, or of what it stands on: a bond's members together, a VLAN's parent.
std::optional<std::int64_t> speed_mbps(const Network& network, const Nic& nic);

// /proc/net/route and /proc/net/ipv6_route: the interface of the default route of least metric.
std::optional<std::string> default_route_in(std::string_view ipv4_routes,
                                            std::string_view ipv6_routes);

}  // namespace chokepoint::host
