#include "analysis/predict/collectives.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {

const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::AllReduce:
      return "all-reduce";
    case Collective::ReduceScatter:
      return "reduce-scatter";
    case Collective::AllGather:
      return "all-gather";
    case Collective::Broadcast:
      return "broadcast";
    case Collective::AllToAll:
      return "all-to-all";
    case Collective::SendReceive:
      return "send";
  }
  return "unknown";
}

Hop slowest(std::span<const Hop> hops) {
  Hop result = hops.front();
  for (const Hop& hop : hops) {
    result.alpha_ms = std::max(result.alpha_ms, hop.alpha_ms);
    result.bytes_per_ms = std::min(result.bytes_per_ms, hop.bytes_per_ms);
  }
  return result;
}

double bus_factor(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1) / ranks;
    case Collective::ReduceScatter:
    case Collective::AllGather:
    case Collective::AllToAll:
      return (ranks - 1) / ranks;
    case Collective::Broadcast:
    case Collective::SendReceive:
      return 1;
  }
  return 1;
}

double ring_hops(Collective collective, double ranks) {
  if (ranks <= 1) return 0;
  switch (collective) {
    case Collective::AllReduce:
      return 2 * (ranks - 1);
    case Collective::SendReceive:
      return 1;
    default:
      return ranks - 1;
  }
}

double ring_ms(Collective collective, double bytes, double ranks, const Hop& hop) {
  return ring_hops(collective, ranks) * hop.alpha_ms +
         bus_factor(collective, ranks) * bytes / hop.bytes_per_ms;
}

double ring_ms(Collective collective, double bytes, std::span<const Hop> hops) {
  return ring_ms(collective, bytes, static_cast<double>(hops.size()), slowest(hops));
}

double tree_all_reduce_ms(double bytes, double nodes, const Hop& hop) {
  if (nodes <= 1) return 0;
  return 2 * std::ceil(std::log2(nodes)) * hop.alpha_ms +
         bus_factor(Collective::AllReduce, nodes) * bytes / hop.bytes_per_ms;
}

double algorithm_mbps(double bytes, double ms) { return bytes * 8 / ms / 1000; }

double bus_mbps(Collective collective, double ranks, double bytes, double ms) {
  return algorithm_mbps(bytes, ms) * bus_factor(collective, ranks);
}

}  // namespace chokepoint::analysis
