#include "preflight/judge/cluster_input.h"

#include <algorithm>

namespace chokepoint::preflight {
std::uint64_t pair_key(HostIndex a, HostIndex b) {
  return (std::uint64_t{std::min(a, b)} << 32) | std::max(a, b);
}

bool is_bound_by_processor(const ClusterInput& input, const PathResult& path) {
  const auto most = static_cast<float>(input.limits().cpu_percent);
  return path.limit == TcpLimit::SenderCpu || path.limit == TcpLimit::ReceiverCpu ||
         path.sender_cpu_percent.value_or(0) >= most ||
         path.receiver_cpu_percent.value_or(0) >= most;
}

bool is_short_of_processors(const ClusterInput& input) {
  constexpr double kHalf = 0.5;
  std::size_t tested = 0;
  std::size_t bound = 0;
  for (const DirectedPath& path : input.paths()) {
    tested += rate_of(*path.result) ? 1 : 0;
    bound += is_bound_by_processor(input, *path.result) ? 1 : 0;
  }
  return static_cast<double>(bound) > kHalf * static_cast<double>(tested);
}

ClusterInput::ClusterInput(const Measured& measured, const Limits& limits)
    : measured_(measured), limits_(limits) {
  interfaces_.reserve(measured.hosts.size());
  for (const HostResult& host : measured.hosts) {
    interfaces_.push_back(tested_interface(host));
  }
  paths_.reserve(2 * measured.pairs.size());
  for (const PairResult& pair : measured.pairs) {
    if (pair.a >= measured.hosts.size() || pair.b >= measured.hosts.size() || pair.a == pair.b) {
      continue;
    }
    paths_.push_back({pair.a, pair.b, &pair.there, &pair});
    paths_.push_back({pair.b, pair.a, &pair.back, &pair});
  }
}

std::string ClusterInput::interface_name(HostIndex host) const {
  return interfaces_[host] == nullptr ? "" : interfaces_[host]->name;
}

bool ClusterInput::is_wan(const DirectedPath& path) const {
  const Figure rtt = path.pair->rtt_min_ms ? path.pair->rtt_min_ms : path.pair->rtt_ms;
  return rtt && *rtt >= limits_.wan_rtt_ms;
}

std::map<std::string, std::vector<HostIndex>> networks_of(const ClusterInput& input) {
  std::map<std::string, std::vector<HostIndex>> networks;
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    const InterfaceFacts* interface = input.interface(host);
    if (interface == nullptr) {
      continue;
    }
    const auto at =
        static_cast<std::size_t>(std::ranges::find(interface->addresses, input.host(host).address) -
                                 interface->addresses.begin());
    if (at < interface->networks.size()) {
      networks[interface->networks[at]].push_back(host);
    }
  }
  return networks;
}

}  // namespace chokepoint::preflight
