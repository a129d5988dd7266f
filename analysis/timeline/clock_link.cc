#include "analysis/timeline/clock_link.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "analysis/timeline/offset_band.h"

namespace chokepoint::analysis {
namespace {

// Values of docs/internals/clocks.md; kMaxNarrowerNs and kMinNoiseNs are judgements.
constexpr double kMaxUnsteeredDrift = 50e-6;  // of clocks that are not steered
constexpr double kUnstatedErrorNs = 50e6;     // ns, of a probe that states none
constexpr double kWallErrorNs = 50e6;         // ns; NTP over a wide-area path
constexpr double kMaxNarrowerNs = 200e3;      // ns
constexpr double kMinNoiseNs = 5e3;           // ns, added to the noise at a line's ends
// Wall clocks further apart: a record went on after a reboot.
constexpr std::int64_t kMaxSameHostWallNs = 1'000'000'000;

// By how much two clocks differ as a probe measured it, by requests and replies.
struct ProbedOffset {
  std::int64_t offset_ns = 0;  // the second's clock less the first's
  double error_ns = 0;         // in the middle of the first's span: clocks drift since the probe
};

bool is_called(const NodeData& node, std::string_view peer) {
  if (peer == node.name || peer == node.host) return true;
  return std::ranges::any_of(node.interfaces, [&](const Interface& interface) {
    return std::ranges::any_of(interface.addresses, [&](std::string_view address) {
      return address.substr(0, address.find('/')) == peer;
    });
  });
}

double error_of(const record::ClockOffset& row) {
  if (row.error_ns.known()) return static_cast<double>(row.error_ns.value());
  if (row.round_trip_ns.known()) return static_cast<double>(row.round_trip_ns.value()) / 2;
  return kUnstatedErrorNs;
}

void take_best(const NodeData& from, const NodeData& of, int sign,
               std::optional<ProbedOffset>& best) {
  const std::int64_t middle_ns = from.span.start_ns + from.span.length_ns() / 2;
  for (const record::ClockOffset& row : from.clock_offsets) {
    if (!is_called(of, row.peer)) continue;
    const double since_ns = std::abs(static_cast<double>(row.t_ns - middle_ns));
    const double error_ns = error_of(row) + kMaxUnsteeredDrift * since_ns;
    if (!best || error_ns < best->error_ns) best = {sign * row.offset_ns, error_ns};
  }
}

// The probe with the smallest error that either has of the other, who may go by name, host or
// address.
std::optional<ProbedOffset> probed_offset(const NodeData& first, const NodeData& second) {
  std::optional<ProbedOffset> best;
  take_best(first, second, 1, best);
  take_best(second, first, -1, best);
  return best;
}

bool joins(const Connection& connection, NodePair pair) {
  if (!connection.ends[0] || !connection.ends[1]) return false;
  return NodePair(std::minmax(connection.ends[0]->node, connection.ends[1]->node)) == pair;
}

// The shortest round trip that the kernels or the packets of either end saw between two nodes.
std::optional<double> least_round_trip_ns(const RunData& run, NodePair pair) {
  std::int64_t least_us = 0;
  for (const Connection& connection : run.connections) {
    if (!joins(connection, pair)) continue;
    for (const std::size_t end : {0U, 1U}) {
      const FlowPlace& here = *connection.ends[end];
      const FlowData& flow = run.flow(here);
      // The reply to what came leaves at once: only what left here measures the whole path.
      least_us = lesser_rtt_us(least_us, least_rtt_us(flow.sockets[end]));
      least_us = lesser_rtt_us(least_us, least_rtt_us(flow.packets[end]));
    }
  }
  return least_us > 0 ? std::optional(static_cast<double>(least_us) * 1000) : std::nullopt;
}

SharedPackets shared_by(const std::map<NodePair, SharedPackets>& all, NodePair pair) {
  const auto found = all.find(pair);
  return found == all.end() ? SharedPackets{} : found->second;
}

ClockMap map_of(const OneWayDelays& base, const OffsetBand& band) {
  std::vector<ClockMap::Knot> knots;
  for (const OffsetKnot& knot : band.middle) {
    knots.push_back(
        {base.begin_ns + std::llround(knot.t_ns), base.offset_ns + std::llround(knot.offset_ns)});
  }
  return ClockMap(knots);
}

// One boot has one monotonic clock; but a record that continues after a reboot has its own times,
// which the wall clock shows.
bool is_same_host(const NodeData& first, const NodeData& second) {
  if (first.boot_id.empty() || first.boot_id != second.boot_id) return false;
  return std::abs(wall_offset_ns(first, second).value_or(0)) < kMaxSameHostWallNs;
}

// How far the line may be off because of the drift: if packets showed none, and in the part of the
// run without packets.
double off_by_drift(const OneWayDelays& delays, const OffsetBand& band, double span_ns) {
  if (!band.has_drift) return kMaxUnsteeredDrift * span_ns;
  const double slope_error = (band.noise_ns + kMinNoiseNs) / std::max(delays.length_ns, 1.0);
  return std::min(kMaxUnsteeredDrift, slope_error) * std::max(0.0, span_ns - delays.length_ns);
}

struct FittedPackets {
  OneWayDelays delays = {};
  OffsetBand band = {};
  bool is_one_way = false;
};

std::optional<FittedPackets> fitted(const RunData& run, NodePair pair, SharedPackets shared) {
  std::optional<OneWayDelays> delays =
      one_way_delays(shared, wall_offset_ns(run.nodes[pair.first], run.nodes[pair.second]));
  if (!delays) return {};
  if (std::optional<OffsetBand> band = widest_band(*delays)) {
    return FittedPackets{std::move(*delays), std::move(*band), false};
  }
  const std::optional<double> round_trip_ns = least_round_trip_ns(run, pair);
  if (!round_trip_ns) return {};
  std::optional<OffsetBand> band = one_way_band(*delays, *round_trip_ns);
  if (!band) return {};
  return FittedPackets{std::move(*delays), std::move(*band), true};
}

// Quicker messages may narrow the band a little; those of another collective close it.
bool is_contradicted(const FittedPackets& marks, const FittedPackets& all) {
  if (marks.is_one_way || marks.band.is_closed) return false;
  if (all.band.is_closed) return true;
  const double narrower_ns = marks.band.width_ns - all.band.width_ns;
  return narrower_ns > std::max(kMaxNarrowerNs, marks.band.width_ns / 2);
}

ClockLink link_by(const FittedPackets& best, ClockSource source, const NodeData& first) {
  const double span_ns = std::max(1.0, static_cast<double>(first.span.length_ns()));
  const double drifted_ns = off_by_drift(best.delays, best.band, span_ns);
  const OffsetBand& band = best.band;
  return {.source = source,
          .map = map_of(best.delays, band),
          .error_ns = std::max(band.width_ns / 2, band.noise_ns) + drifted_ns,
          .noise_ns = band.noise_ns + drifted_ns,
          .is_one_way = best.is_one_way,
          .covered = best.delays.length_ns / span_ns};
}

std::optional<ClockLink> by_packets(const RunData& run, NodePair pair, const Shared& shared) {
  const SharedPackets marks = shared_by(shared.marks, pair);
  const NodeData& first = run.nodes[pair.first];
  const std::optional<FittedPackets> of_marks = fitted(run, pair, marks);
  const std::optional<FittedPackets> of_all =
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
            .error_ns = kWallErrorNs};
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
