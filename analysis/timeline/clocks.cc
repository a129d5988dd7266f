#include "analysis/timeline/clocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "analysis/timeline/clock_link.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr double kHopCostNs = 1e3;      // of equally exact paths the one with fewer nodes is taken
constexpr double kSourceCostNs = 1e12;  // a less exact source costs more, whatever error it states
// By which a wall clock may differ from the packets' offset, without a remark.
constexpr double kMaxWallErrorNs = 1e9;
constexpr double kMinCovered = 0.5;  // of a run, without a remark

using ClockLinks = std::map<NodePair, ClockLink>;  // of every two nodes

// The pairs of nodes that lead each node to the root with the smallest error: the shortest paths.
struct ClockTree {
  std::vector<std::size_t> parents = {};  // the root is its own
  std::vector<std::size_t> order = {};    // parents before those below them
};

double cost_of(const ClockLink& link) {
  const double error_ns = link.error_ns.value_or(kSourceCostNs);
  switch (link.source) {
    case ClockSource::SameHost:
    case ClockSource::Marks:
    case ClockSource::Collectives:
      return error_ns + kHopCostNs;
    case ClockSource::Offsets:
      return error_ns + kSourceCostNs;
    case ClockSource::WallClock:
      return error_ns + 1e3 * kSourceCostNs;
    case ClockSource::None:
      break;
  }
  return 1e6 * kSourceCostNs;
}

ClockTree shortest_paths(const ClockLinks& links, std::size_t nodes, std::size_t root) {
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

std::string time_text(double ns) { return math::format_ms(ns / math::kNsPerMs); }

std::string how_known(const ClockLink& link, const std::string& who) {
  const std::string error = link.error_ns ? time_text(*link.error_ns) : "";
  switch (link.source) {
    case ClockSource::Offsets:
      return fmt::format("clocks of {} are only known to {}, by a probe: no packets that both saw",
                         who, error);
    case ClockSource::WallClock:
      return fmt::format(
          "clocks of {} are only known to some {}, by their wall clocks: no packets that both saw",
          who, error);
    case ClockSource::None:
      return fmt::format(
          "clocks of {} are not known: no packets that both saw, no wall clocks by which the two "
          "ran at the same time; taken to begin together",
          who);
    default:
      break;
  }
  if (!link.is_one_way) return {};
  return fmt::format(
      "clocks of {} are only known to {}: packets that both saw went in one direction only, so "
      "half of the "
      "round trip is taken",
      who, error);
}

// For people, of one node's clock and that of the one it was led to; empty if nothing is wrong.
std::vector<std::string> remarks_on(const ClockLink& link, const NodeData& first,
                                    const NodeData& second) {
  std::vector<std::string> remarks;
  const std::string who = fmt::format("{} and {}", first.name, second.name);
  if (std::string how = how_known(link, who); !how.empty()) remarks.push_back(std::move(how));
  if (link.source != ClockSource::Marks && link.source != ClockSource::Collectives) return remarks;
  if (link.covered && *link.covered < kMinCovered) {
    remarks.push_back(fmt::format(
        "clocks of {} are known from {:.0f} % of the run: no other packets that both saw", who,
        100 * *link.covered));
  }
  const std::optional<std::int64_t> wall_ns = wall_offset_ns(first, second);
  if (!wall_ns) return remarks;
  const auto awry_ns = static_cast<double>(link.map.shift_ns(first.span.start_ns) - *wall_ns);
  if (std::abs(awry_ns) > kMaxWallErrorNs) {
    remarks.push_back(
        fmt::format("wall clocks of {} are {} apart; packets that both saw are used instead", who,
                    time_text(std::abs(awry_ns))));
  }
  return remarks;
}

using Knot = ClockMap::Knot;

std::int64_t bounded_moment(std::int64_t t_ns) {
  return std::clamp(t_ns, record::kLeastNs, record::kMostNs);
}
std::int64_t bounded_shift(std::int64_t ns) {
  return std::clamp(ns, -record::kMostNs, record::kMostNs);
}

double rate(const Knot& from, const Knot& to) {
  return static_cast<double>(to.shift_ns - from.shift_ns) /
         static_cast<double>(to.t_ns - from.t_ns);
}

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

}  // namespace

ClockMap::ClockMap(const std::vector<Knot>& knots) {
  for (const Knot& knot : knots) {
    const Knot bounded{bounded_moment(knot.t_ns), bounded_shift(knot.shift_ns)};
    if (knots_.empty() || bounded.t_ns > knots_.back().t_ns) knots_.push_back(bounded);
  }
}

std::int64_t ClockMap::operator()(std::int64_t t_ns) const {
  return bounded_moment(bounded_moment(t_ns) + shift_ns(t_ns));
}

std::int64_t ClockMap::shift_ns(std::int64_t t_ns) const {
  if (knots_.size() < 2) return knots_.empty() ? 0 : knots_.front().shift_ns;
  const auto after =
      std::upper_bound(knots_.begin() + 1, knots_.end() - 1, t_ns,
                       [](std::int64_t t, const Knot& knot) { return t < knot.t_ns; });
  const Knot& from = *(after - 1);
  const auto since_ns = static_cast<double>(bounded_moment(t_ns) - from.t_ns);
  constexpr auto kMaxNs = static_cast<double>(record::kMostNs);
  const double more_ns = std::clamp(since_ns * rate(from, *after), -kMaxNs, kMaxNs);
  return bounded_shift(from.shift_ns + std::llround(more_ns));
}

ClockMap ClockMap::inverse() const {
  std::vector<Knot> turned;
  turned.reserve(knots_.size());
  for (const Knot& knot : knots_) turned.push_back({knot.t_ns + knot.shift_ns, -knot.shift_ns});
  return ClockMap(turned);
}

ClockMap ClockMap::then(const ClockMap& other) const {
  std::vector<std::int64_t> moments;
  for (const Knot& knot : knots_) moments.push_back(knot.t_ns);
  const ClockMap back = inverse();
  for (const Knot& knot : other.knots_) moments.push_back(back(knot.t_ns));
  std::ranges::sort(moments);
  moments.erase(std::ranges::unique(moments).begin(), moments.end());
  std::vector<Knot> knots;
  knots.reserve(moments.size());
  for (const std::int64_t t_ns : moments) knots.push_back({t_ns, other((*this)(t_ns)) - t_ns});
  return ClockMap(knots);
}

double ClockMap::drift_ppm() const {
  return knots_.size() < 2 ? 0 : rate(knots_.front(), knots_.back()) * 1e6;
}

Clocks fit_clocks(const RunData& run, const FitOptions& options) {
  Clocks clocks;
  if (run.nodes.empty()) return clocks;
  clocks.nodes.resize(run.nodes.size());
  clocks.reference = most_connected(run);
  const ClockLinks links = links_of(run, options);
  const ClockTree tree = shortest_paths(links, run.nodes.size(), clocks.reference);
  for (const std::size_t node : tree.order) {
    if (node == clocks.reference) continue;
    const std::size_t parent = tree.parents[node];
    const NodePair pair = std::minmax(node, parent);
    const ClockLink& link = links.at(pair);
    const ClockMap map = node == pair.first ? link.map : link.map.inverse();
    clocks.nodes[node] = below(clocks.nodes[parent], link, map, run.nodes[node].span.start_ns);
    std::ranges::move(remarks_on(link, run.nodes[pair.first], run.nodes[pair.second]),
                      std::back_inserter(clocks.missing));
  }
  return clocks;
}

}  // namespace chokepoint::analysis
