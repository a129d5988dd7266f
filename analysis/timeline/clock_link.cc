#include "analysis/timeline/clock_link.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "analysis/timeline/corridor.h"
#include "analysis/timeline/path_round_trip.h"
#include "analysis/timeline/probed_offset.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWallError = 50e6;      // ns; NTP over a wide-area path
constexpr double kMostNarrower = 200e3;  // ns
constexpr double kLeastNoise = 5e3;      // ns, that a line's ends are off at least
constexpr std::int64_t kSameHostWall = 1'000'000'000;

SharedPackets shared_by(const std::map<NodePair, SharedPackets>& all, NodePair pair) {
  const auto found = all.find(pair);
  return found == all.end() ? SharedPackets{} : found->second;
}

ClockMap map_of(const OneWayDelays& base, const Corridor& corridor) {
  std::vector<ClockMap::Knot> knots;
  for (const OffsetKnot& knot : corridor.middle) {
    knots.push_back(
        {base.begin_ns + std::llround(knot.t_ns), base.offset_ns + std::llround(knot.offset_ns)});
  }
  return ClockMap(std::move(knots));
}

// One boot has one monotonic clock. A record that goes on over a reboot has times of its own,
// though, which the wall clock shows.
bool is_same_host(const NodeData& first, const NodeData& second) {
  if (first.boot_id.empty() || first.boot_id != second.boot_id) return false;
  return std::abs(wall_offset_ns(first, second).value_or(0)) < kSameHostWall;
}

// How far the line may be off because of the drift: where packets told none, and where the run goes
// on without them.
double off_by_drift(const OneWayDelays& delays, const Corridor& corridor, double span_ns) {
  if (!corridor.has_drift) return kUnsteeredDrift * span_ns;
  const double slope_error = (corridor.noise_ns + kLeastNoise) / std::max(delays.length_ns, 1.0);
  return std::min(kUnsteeredDrift, slope_error) * std::max(0.0, span_ns - delays.length_ns);
}

struct Fitted {
  OneWayDelays delays = {};
  Corridor corridor = {};
  bool is_one_way = false;
};

std::optional<Fitted> fitted(const RunData& run, NodePair pair, SharedPackets shared) {
  std::optional<OneWayDelays> delays =
      one_way_delays(shared, wall_offset_ns(run.nodes[pair.first], run.nodes[pair.second]));
  if (!delays) return {};
  if (std::optional<Corridor> corridor = widest_corridor(*delays)) {
    return Fitted{std::move(*delays), std::move(*corridor), false};
  }
  const std::optional<double> round_trip_ns = least_round_trip_ns(run, pair);
  if (!round_trip_ns) return {};
  std::optional<Corridor> corridor = half_corridor(*delays, *round_trip_ns);
  if (!corridor) return {};
  return Fitted{std::move(*delays), std::move(*corridor), true};
}

// Quicker messages may narrow the corridor a little; those of another collective close it.
bool is_contradicted(const Fitted& marks, const Fitted& all) {
  if (marks.is_one_way || marks.corridor.is_closed) return false;
  if (all.corridor.is_closed) return true;
  const double narrower_ns = marks.corridor.width_ns - all.corridor.width_ns;
  return narrower_ns > std::max(kMostNarrower, marks.corridor.width_ns / 2);
}

ClockLink link_by(const Fitted& best, ClockSource source, const NodeData& first) {
  const double span_ns = std::max(1.0, static_cast<double>(first.span.length_ns()));
  const double drifted_ns = off_by_drift(best.delays, best.corridor, span_ns);
  const Corridor& corridor = best.corridor;
  return {.source = source,
          .map = map_of(best.delays, corridor),
          .error_ns = std::max(corridor.width_ns / 2, corridor.noise_ns) + drifted_ns,
          .noise_ns = corridor.noise_ns + drifted_ns,
          .is_one_way = best.is_one_way,
          .covered = best.delays.length_ns / span_ns};
}

std::optional<ClockLink> by_packets(const RunData& run, NodePair pair, const Shared& shared) {
  const SharedPackets marks = shared_by(shared.marks, pair);
  const NodeData& first = run.nodes[pair.first];
  const std::optional<Fitted> of_marks = fitted(run, pair, marks);
  const std::optional<Fitted> of_all =
      fitted(run, pair, joined(marks, shared_by(shared.collectives, pair)));
  if (of_marks && (!of_all || is_contradicted(*of_marks, *of_all))) {
    return link_by(*of_marks, ClockSource::Marks, first);
  }
  if (!of_all) return {};
  return link_by(*of_all, of_marks ? ClockSource::Marks : ClockSource::Collectives, first);
}

ClockLink by_wall_clock(const NodeData& first, const NodeData& second) {
  const std::optional<std::int64_t> offset_ns = wall_offset_ns(first, second);
  const auto overlaps = [&](std::int64_t shift_ns) {
    return first.span.start_ns + shift_ns <= second.span.end_ns &&
           second.span.start_ns <= first.span.end_ns + shift_ns;
  };
  if (offset_ns && overlaps(*offset_ns)) {
    return {.source = ClockSource::WallClock,
            .map = ClockMap({{first.span.start_ns, *offset_ns}}),
            .error_ns = kWallError};
  }
  const std::int64_t starts_ns = second.span.start_ns - first.span.start_ns;
  return {.source = ClockSource::None, .map = ClockMap({{first.span.start_ns, starts_ns}})};
}

}  // namespace

std::optional<std::int64_t> wall_offset_ns(const NodeData& first, const NodeData& second) {
  if (first.wall_start_ns == 0 || second.wall_start_ns == 0) return {};
  return (first.wall_start_ns - first.span.start_ns) -
         (second.wall_start_ns - second.span.start_ns);
}

ClockLink link_of(const RunData& run, NodePair pair, const Shared& shared,
                  const FitOptions& options) {
  const NodeData& first = run.nodes[pair.first];
  const NodeData& second = run.nodes[pair.second];
  if (options.use_boot_ids && is_same_host(first, second)) {
    return {.source = ClockSource::SameHost, .error_ns = 0, .noise_ns = 0};
  }
  if (auto link = by_packets(run, pair, shared)) return *link;
  if (const auto probed = probed_offset(first, second)) {
    return {.source = ClockSource::Offsets,
            .map = ClockMap({{first.span.start_ns, probed->offset_ns}}),
            .error_ns = probed->error_ns};
  }
  return by_wall_clock(first, second);
}

}  // namespace chokepoint::analysis
