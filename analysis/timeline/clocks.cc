#include "analysis/timeline/clocks.h"

#include <algorithm>

#include "analysis/timeline/clock_link.h"
#include "analysis/timeline/clock_remarks.h"
#include "analysis/timeline/clock_tree.h"

namespace chokepoint::analysis {
namespace {

std::size_t most_connected(const RunData& run) {
  std::vector<std::size_t> counts(run.nodes.size());
  for (const Connection& connection : run.connections) {
    if (!connection.ends[0] || !connection.ends[1]) continue;
    for (const auto& end : connection.ends) ++counts[end->node];
  }
  return static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin());
}

ClockLinks links_of(const RunData& run, const FitOptions& options) {
  const Shared shared{shared_marks(run), shared_collectives(run)};
  ClockLinks links;
  for (std::size_t first = 0; first < run.nodes.size(); ++first) {
    for (std::size_t second = first + 1; second < run.nodes.size(); ++second) {
      links[{first, second}] = link_of(run, {first, second}, shared, options);
    }
  }
  return links;
}

std::optional<double> sum(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

// `map` leads from this node's clock to its parent's.
NodeClock below(const NodeClock& parent, const ClockLink& link, const ClockMap& map,
                std::int64_t start_ns) {
  NodeClock clock{.source = std::max(parent.source, link.source),
                  .error_ns = sum(parent.error_ns, link.error_ns),
                  .noise_ns = sum(parent.noise_ns, link.noise_ns),
                  .to_common = map.then(parent.to_common)};
  clock.from_common = clock.to_common.inverse();
  clock.offset_ns = -clock.to_common.shift_ns(start_ns);
  clock.drift_ppm = -clock.to_common.drift_ppm();
  return clock;
}

void append(std::vector<std::string>& to, std::vector<std::string> lines) {
  std::ranges::move(lines, std::back_inserter(to));
}

}  // namespace

const char* name_of(ClockSource source) {
  switch (source) {
    case ClockSource::SameHost:
      return "same host";
    case ClockSource::Marks:
      return "packets";
    case ClockSource::Collectives:
      return "collectives";
    case ClockSource::Offsets:
      return "probes";
    case ClockSource::WallClock:
      return "wall clock";
    case ClockSource::None:
      break;
  }
  return "none";
}

Clocks fit_clocks(const RunData& run, const FitOptions& options) {
  Clocks clocks;
  if (run.nodes.empty()) return clocks;
  clocks.nodes.resize(run.nodes.size());
  clocks.reference = most_connected(run);
  const ClockLinks links = links_of(run, options);
  const ClockTree tree = surest_tree(links, run.nodes.size(), clocks.reference);
  for (const std::size_t node : tree.order) {
    if (node == clocks.reference) continue;
    const std::size_t parent = tree.parents[node];
    const NodePair pair = std::minmax(node, parent);
    const ClockLink& link = links.at(pair);
    const ClockMap map = node == pair.first ? link.map : link.map.inverse();
    clocks.nodes[node] = below(clocks.nodes[parent], link, map, run.nodes[node].span.start_ns);
    append(clocks.missing, remarks_on(link, run.nodes[pair.first], run.nodes[pair.second]));
  }
  return clocks;
}

}  // namespace chokepoint::analysis
