// The location of the fault behind slow or lossy paths: the smallest explanation. It is a host's
// port, if nearly all that it sends, receives or both is affected; what two groups share, if paths
// inside the groups are not affected; else a pair or a path. A path that is explained counts
// against no other host. Pure; time and memory are linear in the paths, but for hosts at fault
// times hosts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/judge.h"

namespace chokepoint::preflight {

// A way that was tested. What suffers has lost something: packets, or all of them where it is yes
// or no.
struct Tested {
  PathIndex path = 0;
  HostIndex from = 0;
  HostIndex to = 0;
  double sent = 1;
  double lost = 0;
};

// The paths of which suffers(index, path) returns true or false; nullopt leaves a path out.
template <class Suffers>
std::vector<Tested> tested_paths(const ClusterInput& input, Suffers suffers) {
  std::vector<Tested> tested;
  for (PathIndex index = 0; index < input.paths().size(); ++index) {
    const DirectedPath& path = input.paths()[index];
    if (const std::optional<bool> answer = suffers(index, path)) {
      tested.push_back({index, path.from, path.to, 1, *answer ? 1.0 : 0.0});
    }
  }
  return tested;
}

// Several ways together.
struct Part {
  std::size_t paths = 0;
  std::size_t suffering = 0;
  double sent = 0;
  double lost = 0;
  double lost_squared = 0;  // each way's, added up: how evenly they lose
};

struct FaultLocation {
  Place place = Place::DirectedPath;  // Cluster, Uplink, Port, Pair or DirectedPath
  std::vector<HostIndex> hosts = {};
  std::vector<HostIndex> others = {};  // Uplink: the other group
  bool sends = false;                  // Port: what it sends suffers
  bool receives = false;
  std::vector<PathIndex> paths = {};  // that suffer by it
};

// Is it more than chance, with this probability of being wrong?
using Significance = std::function<bool(const Part&, double false_alarm)>;

// By host: 1 in the first group, 2 in the second one, 0 in neither. Of a way from one to the other
// both together are 3.
std::vector<std::uint8_t> sides_of(std::size_t hosts, std::span<const HostIndex> group,
                                   std::span<const HostIndex> others);

std::vector<FaultLocation> locate_faults(std::size_t hosts, std::span<const Tested> tested,
                                         const Significance& significance, double false_alarm);

// The same where a way suffers or does not.
std::vector<FaultLocation> locate_faults(std::size_t hosts, std::span<const Tested> tested);

}  // namespace chokepoint::preflight
