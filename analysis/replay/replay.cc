#include "analysis/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "analysis/replay/transfer_times.h"

namespace chokepoint::analysis {
namespace {

// Relative error of the unchanged run's replay; with more the graph does not describe the run: a
// judgement.
constexpr double kMaxReplayError = 0.05;

constexpr std::size_t kMinReplaySteps = 3;
constexpr double kNever = std::numeric_limits<double>::infinity();

struct StepsLength {
  double ms = 0;
  double steps = 0;
};

// From the end of a settled step's moments to that of the next one's, so that each step is whole.
// Of a long record only some steps were read: nothing is known of those between them.
StepsLength length_of_steps(const RunGraph& graph, const std::vector<bool>& follows,
                            const std::vector<double>& times_ns) {
  const std::vector<std::size_t> last = last_moments(graph, follows.size(), times_ns);
  StepsLength length;
  std::optional<std::size_t> before;
  double before_ns = 0;
  for (std::size_t step = 0; step < follows.size(); ++step) {
    if (!follows[step]) before.reset();
    if (last[step] == kNowhere) continue;
    double end_ns = times_ns[last[step]];
    if (before) {
      end_ns = std::max(end_ns, before_ns);
      length.ms += (end_ns - before_ns) / 1e6;
      length.steps += static_cast<double>(step - *before);
    }
    before = step;
    before_ns = end_ns;
  }
  return length;
}

// When each moment comes.
std::vector<double> times_of(const RunGraph& graph,
                             const std::function<double(const Arc&, std::size_t step)>& ns_of) {
  std::vector<double> times(graph.moments.size(), 0);
  for (const std::size_t place : graph.order) {
    const GraphMoment& moment = graph.moments[place];
    double t_ns = -kNever;
    for (const Arc& arc : moment.arcs) {
      t_ns = std::max(t_ns, times[arc.from] + std::max(0.0, ns_of(arc, moment.step)));
    }
    times[place] = moment.arcs.empty() ? static_cast<double>(moment.t_ns) : t_ns;
  }
  return times;
}

bool is_path_changed(const PathProfile& path) { return path.rate_mbps || path.rtt_ms || path.loss; }

}  // namespace

std::optional<Replay> Replay::of(const ReplayInput& input) {
  if (input.phases.source != PhaseSource::Library) {
    return std::nullopt;
  }
  const Exchanges exchanges = exchanges_of(input.run, input.clocks);
  return of({.exchanges = exchanges,
             .meetings = meetings_of(exchanges),
             .steps = input.steps,
             .phases = input.phases},
            input.path);
}

std::optional<Replay> Replay::of(const GraphInput& input, const MeasuredPath& path) {
  std::optional<RunGraph> graph = graph_of(input);
  if (!graph || input.steps.settled.size() < kMinReplaySteps) {
    return std::nullopt;
  }
  Replay replay;
  replay.graph_ = *std::move(graph);
  replay.path_ = path;
  if (path.is_full) {
    // Bins that a transfer fills in part have less than the link gave.
    replay.path_.path.rate_mbps =
        std::max(path.path.rate_mbps.value_or(0),
                 fastest_mbps(replay.graph_.transfers, path.path.rtt_ms.value_or(0)));
  }
  replay.work_ms_ = input.phases.exchange_work_ms;
  replay.step_ms_ = input.phases.step_ms;
  replay.follows_ = follows_settled(input.steps);
  replay.source_ = std::make_shared<const Source>(
      Source{input.exchanges, input.meetings, input.steps, input.phases});
  replay.times_ns_ = times_of(
      replay.graph_, [](const Arc& arc, std::size_t) { return static_cast<double>(arc.ns); });
  replay.length_ms_ = length_of_steps(replay.graph_, replay.follows_, replay.times_ns_).ms;
  std::vector<double> recorded_ns;
  for (const GraphMoment& moment : replay.graph_.moments) {
    recorded_ns.push_back(static_cast<double>(moment.t_ns));
  }
  const StepsLength recorded = length_of_steps(replay.graph_, replay.follows_, recorded_ns);
  replay.steps_ = recorded.steps;
  if (recorded.ms <= 0 ||
      std::abs(replay.length_ms_ - recorded.ms) > kMaxReplayError * recorded.ms) {
    return std::nullopt;
  }
  return replay;
}

double Replay::length_ms(const RunGraph& graph,
                         const std::function<double(const Arc&, std::size_t step)>& ns_of) const {
  return length_of_steps(graph, follows_, times_of(graph, ns_of)).ms;
}

double Replay::step_ms_of(double length_ms, double unchanged_ms) const {
  return std::max(0.0, step_ms_ + (length_ms - unchanged_ms) / steps_);
}

std::optional<RunGraph> Replay::graph_with(const Buckets& buckets) const {
  return graph_of({.exchanges = source_->exchanges,
                   .meetings = source_->meetings,
                   .steps = source_->steps,
                   .phases = source_->phases,
                   .buckets = buckets});
}

std::optional<std::vector<double>> Replay::loads_in(
    const std::vector<std::int64_t>& rank_order) const {
  std::map<std::int64_t, std::size_t> node_of;
  for (const RankRing& ring : graph_.rings) {
    for (const RankPlace& member : ring) {
      node_of[member.rank] = member.node;
    }
  }
  std::vector<double> loads;
  for (const RankRing& ring : graph_.rings) {
    RankRing other = ring;
    for (RankPlace& member : other) {
      const bool is_ordered =
          member.rank >= 0 && member.rank < static_cast<std::int64_t>(rank_order.size());
      const auto place = is_ordered
                             ? node_of.find(rank_order[static_cast<std::size_t>(member.rank)])
                             : node_of.end();
      if (place == node_of.end()) return std::nullopt;
      member.node = place->second;
    }
    const double before = crossings_of(ring);
    const double after = crossings_of(other);
    if ((before == 0) != (after == 0)) return std::nullopt;
    loads.push_back(before == 0 ? 1 : after / before);
  }
  return loads;
}

std::optional<double> Replay::step_ms(const ReplayChange& change) const {
  const double rtt_ms = path_.path.rtt_ms.value_or(0);
  const auto as_recorded = [](const Arc& arc, std::size_t) { return static_cast<double>(arc.ns); };
  const double loss = path_.path.loss.value_or(0);
  if (change.path.loss.value_or(loss) < loss && !shows_times_without_loss(graph_.transfers, loss)) {
    return std::nullopt;
  }
  std::vector<double> loads;
  if (!change.rank_order.empty()) {
    std::optional<std::vector<double>> found = loads_in(change.rank_order);
    if (!found || change.bucket_bytes || change.overlap) return std::nullopt;
    loads = *std::move(found);
  }
  double unchanged_ms = length_ms_;
  std::optional<RunGraph> other;
  if (change.bucket_bytes || change.overlap) {
    const std::optional<RunGraph> same = graph_with({.rtt_ms = rtt_ms, .is_cut = true});
    other = graph_with({.bytes = change.bucket_bytes,
                        .overlap = change.overlap,
                        .rtt_ms = rtt_ms,
                        .is_cut = true});
    if (!same || !other) {
      return std::nullopt;
    }
    unchanged_ms = length_ms(*same, as_recorded);
  }
  const RunGraph& graph = other ? *other : graph_;
  const TransferTimes times(graph.transfers, {.before = path_,
                                              .after = change.path,
                                              .congestion = change.congestion,
                                              .loads = loads,
                                              .work_ms = work_ms_,
                                              .steps = steps_});
  const double propagation_times =
      change.path.rtt_ms && rtt_ms > 0 ? *change.path.rtt_ms / rtt_ms : 1;
  const bool is_path = is_path_changed(change.path) || !loads.empty();
  const double changed_ms = length_ms(graph, [&](const Arc& arc, std::size_t) {
    const auto ns = static_cast<double>(arc.ns);
    switch (arc.cost) {
      case Cost::Computing:
        return ns - (1 - change.late_times) * static_cast<double>(arc.late_ns);
      case Cost::Propagation:
        return ns * propagation_times;
      case Cost::Transfer:
        return is_path ? times.ns(arc.transfer, ns) : ns;
      case Cost::Overhead:
        return ns;
    }
    return ns;
  });
  return step_ms_of(changed_ms, unchanged_ms);
}

double Replay::step_ms(const std::vector<CauseShares>& shares, double times) const {
  const auto of_step = [&](std::size_t step) {
    return step < shares.size() ? shares[step] : CauseShares{};
  };
  const double changed_ms = length_ms(graph_, [&](const Arc& arc, std::size_t step) {
    const auto ns = static_cast<double>(arc.ns);
    const auto late_ns = static_cast<double>(arc.late_ns);
    const CauseShares own = of_step(step);
    switch (arc.cost) {
      case Cost::Computing:
        return ns - (1 - times) * (own.late * late_ns + own.computing * (ns - late_ns));
      case Cost::Propagation:
      case Cost::Transfer:
        return ns * (1 - (1 - times) * own.transfer);
      case Cost::Overhead:
        return ns;
    }
    return ns;
  });
  return step_ms_of(changed_ms, length_ms_);
}

}  // namespace chokepoint::analysis
