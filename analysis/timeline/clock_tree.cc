#include "analysis/timeline/clock_tree.h"

#include <limits>

namespace chokepoint::analysis {
namespace {

constexpr double kEach = 1e3;    // ns, so that of equal ways the one with fewer nodes is taken
constexpr double kWorse = 1e12;  // a source that is worse, whatever error it states

double cost_of(const ClockLink& link) {
  const double error_ns = link.error_ns.value_or(kWorse);
  switch (link.source) {
    case ClockSource::SameHost:
    case ClockSource::Marks:
    case ClockSource::Collectives:
      return error_ns + kEach;
    case ClockSource::Offsets:
      return error_ns + kWorse;
    case ClockSource::WallClock:
      return error_ns + 1e3 * kWorse;
    case ClockSource::None:
      break;
  }
  return 1e6 * kWorse;
}

}  // namespace

ClockTree surest_tree(const ClockLinks& links, std::size_t nodes, std::size_t root) {
  ClockTree tree{std::vector<std::size_t>(nodes, root), {}};
  std::vector<double> costs(nodes, std::numeric_limits<double>::infinity());
  std::vector<bool> is_reached(nodes, false);
  costs[root] = 0;
  while (tree.order.size() < nodes) {
    std::size_t next = nodes;
    for (std::size_t node = 0; node < nodes; ++node) {
      if (!is_reached[node] && (next == nodes || costs[node] < costs[next])) next = node;
    }
    is_reached[next] = true;
    tree.order.push_back(next);
    for (std::size_t node = 0; node < nodes; ++node) {
      if (is_reached[node]) continue;
      const double cost = costs[next] + cost_of(links.at(std::minmax(next, node)));
      if (cost >= costs[node]) continue;
      costs[node] = cost;
      tree.parents[node] = next;
    }
  }
  return tree;
}

}  // namespace chokepoint::analysis
