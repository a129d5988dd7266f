#include "analysis/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/report/known_span.h"
#include "analysis/report/moments.h"
#include "analysis/report/time_axis.h"
#include "analysis/report/timeline_lanes.h"
#include "analysis/report/track_maker.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kFewestBins = 60;

Span whole_span(const RunData& run, const Clocks& clocks) {
  std::optional<Span> whole;
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    const Span own = known_span(run.nodes[node]);
    if (own.length_ns() <= 0) {
      continue;
    }
    const Span common{clocks.common_ns(node, own.start_ns), clocks.common_ns(node, own.end_ns)};
    whole = whole ? Span{std::min(whole->start_ns, common.start_ns),
                         std::max(whole->end_ns, common.end_ns)}
                  : common;
  }
  return whole.value_or(Span{});
}

// Where the page's second 0 lies by the wall clock of the node whose clock is the common one.
std::int64_t wall_of(const RunData& run, const Clocks& clocks, std::int64_t common_ns) {
  if (clocks.reference >= run.nodes.size()) {
    return 0;
  }
  const NodeData& node = run.nodes[clocks.reference];
  if (node.wall_start_ns <= 0) {
    return 0;  // a record that lost its sessions
  }
  return node.wall_start_ns + clocks.local_ns(clocks.reference, common_ns) - node.span.start_ns;
}

std::vector<NodeTime> node_times(const RunData& run, const Clocks& clocks) {
  std::vector<NodeTime> times;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeClock& clock = clocks.nodes[place];
    NodeTime& time = times.emplace_back(
        NodeTime{.name = run.nodes[place].name, .clock_source = name_of(clock.source)});
    if (clock.error_ns) {
      time.clock_error_ms = static_cast<double>(*clock.error_ns) / 1e6;
    }
    for (const record::Process& process : run.nodes[place].processes) {
      if (process.rank.known()) {
        time.ranks.push_back(process.rank.value());
      }
    }
    std::ranges::sort(time.ranks);
    const auto twice = std::ranges::unique(time.ranks);
    time.ranks.erase(twice.begin(), twice.end());
  }
  return times;
}

// Windows are the same moments of all nodes: the first that has some tells.
std::vector<Span> common_windows(const RunData& run, const Clocks& clocks) {
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::vector<Span> windows;
    for (const Span& window : run.nodes[place].windows) {
      windows.push_back(
          {clocks.common_ns(place, window.start_ns), clocks.common_ns(place, window.end_ns)});
    }
    if (!windows.empty()) {
      return windows;
    }
  }
  return {};
}

std::size_t bins_for(std::size_t values, std::size_t tracks, std::size_t most) {
  return std::clamp(values / std::max<std::size_t>(tracks, 1), kFewestBins,
                    std::max(most, kFewestBins));
}

TrackMaker maker_of(const RunData& run, const Inquiry& inquiry, const TimelineLimits& limits,
                    std::array<std::size_t, 2> bins, Timeline& timeline) {
  timeline.axes.clear();
  for (const std::size_t wanted : bins) {
    timeline.axes.push_back(
        time_axis(timeline.span, timeline.windows, wanted, limits.shortest_bin_ns));
  }
  return TrackMaker(run, inquiry.clocks, timeline.axes);
}

// How many tracks hosts have shows only when they are made.
void add_tracks(const RunData& run, const Inquiry& inquiry, const TimelineLimits& limits,
                Timeline& timeline) {
  const std::size_t flows = std::min(run.connections.size(), limits.flows);
  const std::size_t flow_bins = bins_for(limits.flow_values, flows * kTracksOfFlow, limits.bins);
  const std::size_t tracks =
      node_tracks(maker_of(run, inquiry, limits, {kFewestBins, flow_bins}, timeline)).size();
  const std::size_t node_bins = bins_for(limits.node_values, tracks, limits.bins);
  const TrackMaker maker = maker_of(run, inquiry, limits, {node_bins, flow_bins}, timeline);
  timeline.tracks = node_tracks(maker);
  std::ranges::move(flow_tracks(maker, flows), std::back_inserter(timeline.tracks));
  if (flows < run.connections.size()) {
    timeline.remarks.push_back(
        fmt::format("of {} connections the {} that carried most have curves; the table has all",
                    run.connections.size(), flows));
  }
}

void remark_on_windows(const Timeline& timeline, std::vector<std::string>& remarks) {
  if (!timeline.windows.empty()) {
    remarks.push_back(fmt::format(
        "the record is too large to be read whole: {} windows of it were read in full, and short "
        "looks at even distances between them",
        timeline.windows.size()));
  }
}

}  // namespace

Timeline timeline_of(const RunData& run, const Inquiry& inquiry,
                     const std::vector<StepAccounts>& steps, const TimelineLimits& limits) {
  Timeline timeline{.span = whole_span(run, inquiry.clocks)};
  timeline.wall_start_ns = wall_of(run, inquiry.clocks, timeline.span.start_ns);
  timeline.nodes = node_times(run, inquiry.clocks);
  timeline.windows = common_windows(run, inquiry.clocks);
  remark_on_windows(timeline, timeline.remarks);
  add_tracks(run, inquiry, limits, timeline);
  timeline.steps = shown_steps(inquiry.steps, limits.steps);
  timeline.lanes = lanes_of(run, inquiry, limits);
  timeline.communicating = joined(inquiry.phases.communicating, limits.communicating);
  timeline.moments = moments_of(run, inquiry, steps, limits.moments, timeline.remarks);
  return timeline;
}

}  // namespace chokepoint::analysis
