// The input of the judgement: all measurements, ordered by directed paths (`ways`), with the
// interface over which each host was tested. Pairs of hosts that are not there, as a hostile
// document may have them, are dropped here once, so that later code need not check. Points into
// what it was given.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "preflight/judge/limits.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

using PathIndex = std::uint32_t;

struct DirectedPath {
  HostIndex from = 0;
  HostIndex to = 0;
  const PathResult* result = nullptr;
  const PairResult* pair = nullptr;
};

class ClusterInput {
 public:
  ClusterInput(const Measured& measured, const Limits& limits);

  const Measured& measured() const { return measured_; }
  const Limits& limits() const { return limits_; }
  const std::vector<DirectedPath>& paths() const {
    return paths_;
  }  // there and back of each pair, in turn
  std::size_t hosts() const { return measured_.hosts.size(); }
  const HostResult& host(HostIndex host) const { return measured_.hosts[host]; }
  const std::string& name(HostIndex host) const { return measured_.hosts[host].name; }
  bool is_present(HostIndex host) const { return this->host(host).presence == Presence::Present; }

  // Over which the host was tested; null if its address belongs to none that it reported.
  const InterfaceFacts* interface(HostIndex host) const { return interfaces_[host]; }
  // "eth0"; empty where it is not known.
  std::string interface_name(HostIndex host) const;
  bool is_wan(const DirectedPath& path) const;

 private:
  const Measured& measured_;
  const Limits& limits_;
  std::vector<DirectedPath> paths_;
  std::vector<const InterfaceFacts*> interfaces_;
};

// The same whichever of the two comes first.
std::uint64_t pair_key(HostIndex a, HostIndex b);

// Its flows had a core to themselves, and that was not enough.
bool is_bound_by_processor(const ClusterInput& input, const PathResult& path);

// Most tested flows had a core to themselves, and that was not enough: as if all hosts were
// namespaces of one machine.
bool is_short_of_processors(const ClusterInput& input);

// Hosts by the IP network of the address at which they were tested; without those whose network is
// not known.
std::map<std::string, std::vector<HostIndex>> networks_of(const ClusterInput& input);

}  // namespace chokepoint::preflight
