#include "analysis/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <ranges>

#include "analysis/attribution/causes.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/tracks.h"
#include "analysis/timeline/spans.h"
#include "base/math/saturating.h"
#include "base/record/stacks.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kEvidenceSteps = 5;

// The largest of the accounts that a change could reduce.
std::optional<Account> worst_of(const Accounting& accounting) {
  std::optional<Account> worst;
  for (std::size_t place = 0; place < kAccounts; ++place) {
    const auto account = Account(place);
    if (account != Account::Compute && account != Account::Other && accounting[account] > 0 &&
        (!worst || accounting[account] > accounting[*worst])) {
      worst = account;
    }
  }
  return worst;
}

// The steps in which the largest account was largest.
void add_evidence(const Inquiry& inquiry, const std::vector<StepAccounts>& steps,
                  std::vector<Moment>& moments) {
  const bool is_named = inquiry.diagnosis.verdict.lost_ms_per_step > 0;
  const auto worst =
      inquiry.diagnosis.accounting ? worst_of(*inquiry.diagnosis.accounting) : std::nullopt;
  if (!is_named || !worst) {
    return;
  }
  std::vector<const StepAccounts*> order;
  for (const StepAccounts& step : steps) {
    order.push_back(&step);
  }
  const auto cost = [&](const StepAccounts* step) { return step->accounting[*worst]; };
  std::ranges::stable_sort(order, std::greater<>(), cost);
  order.resize(std::min(order.size(), kEvidenceSteps));
  for (const StepAccounts* step : order) {
    const auto at =
        std::ranges::lower_bound(inquiry.steps.all, step->span.start_ns, {}, &Span::start_ns);
    moments.push_back(
        {.span = step->span,
         .is_evidence = true,
         .what = fmt::format("step {}: {:.1f} ms {}", at - inquiry.steps.all.begin() + 1,
                             cost(step), words_of(*worst)),
         .detail = fmt::format("of {:.1f} ms; the mean is {:.1f} ms", step->accounting.sum(),
                               (*inquiry.diagnosis.accounting)[*worst]),
         .source = "the step's own account"});
  }
}

// Stacks are shown by `record show`: here stands where the rank is.
std::string detail_of(const record::Event& event) {
  const auto stacks = event.kind == record::kStacks ? record::stacks_in(event.detail)
                                                    : std::optional<record::Stacks>();
  const std::string detail = stacks ? record::place_of(*stacks) : event.detail;
  return detail == "{}" ? "" : detail;
}

void add_events(const RunData& run, const Clocks& clocks, std::size_t most,
                std::vector<Moment>& moments, std::vector<std::string>& remarks) {
  std::size_t left_out = 0;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeData& node = run.nodes[place];
    std::size_t shown = 0;
    for (const record::Event& event : node.events) {
      if (++shown > std::max<std::size_t>(1, most / run.nodes.size())) {
        ++left_out;
        continue;
      }
      const std::int64_t t_ns = clocks.common_ns(place, event.t_ns);
      moments.push_back(
          {.span = {t_ns, t_ns},
           .node = node.name,
           .what = event.subject.empty() ? event.kind : event.kind + " " + event.subject,
           .detail = detail_of(event),
           .source = "events of " + node.name});
    }
  }
  if (left_out > 0) {
    remarks.push_back(
        fmt::format("{} more events are in the records: export --to csv has all", left_out));
  }
}

// In order of time. `remarks` gets a line on events left out beyond `most`.
std::vector<Moment> moments_of(const RunData& run, const Inquiry& inquiry,
                               const std::vector<StepAccounts>& steps, std::size_t most,
                               std::vector<std::string>& remarks) {
  std::vector<Moment> moments;
  add_evidence(inquiry, steps, moments);
  add_events(run, inquiry.clocks, most, moments, remarks);
  std::ranges::stable_sort(moments, {}, [](const Moment& moment) { return moment.span.start_ns; });
  return moments;
}

std::int64_t bin_length(std::int64_t length_ns, std::size_t bins, std::int64_t shortest_ns) {
  const auto count = static_cast<std::int64_t>(std::max<std::size_t>(bins, 1));
  return std::max(shortest_ns, (length_ns + count - 1) / count);
}

void sort_unique(std::vector<std::int64_t>& values) {
  std::ranges::sort(values);
  const auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

void add_edges(Span span, std::int64_t length_ns, std::vector<std::int64_t>& edges) {
  for (std::int64_t edge = span.start_ns; edge < span.end_ns; edge += length_ns) {
    edges.push_back(edge);
  }
  edges.push_back(span.end_ns);
}

// How many neighbors are shown as one, so that of `all` at most `most` are shown; 0: all are.
std::size_t shown_as_one(std::size_t all, std::size_t most) {
  return most == 0 ? 1 : std::max<std::size_t>(1, (all + most - 1) / most);
}

Span on_common_clock(const Clocks& clocks, std::size_t node, Span own) {
  return {clocks.common_ns(node, own.start_ns), clocks.common_ns(node, own.end_ns)};
}

// Selects about `most` of `all` entries: those that begin in the first part of each of kPieces
// equal pieces of the run, so that the shown parts are without gaps.
class Thinned {
 public:
  Thinned(Span whole, std::size_t all, std::size_t most)
      : start_ns_(whole.start_ns),
        piece_ns_(std::max<std::int64_t>(1, whole.length_ns() / kPieces)),
        share_(all <= most ? 1 : static_cast<double>(most) / static_cast<double>(all)) {}

  bool shows(std::int64_t t_ns) const {
    const auto within = static_cast<double>((t_ns - start_ns_) % piece_ns_);
    return share_ >= 1 || within < share_ * static_cast<double>(piece_ns_);
  }

 private:
  static constexpr std::int64_t kPieces = 40;
  std::int64_t start_ns_;
  std::int64_t piece_ns_;
  double share_;
};

// A rank with lanes of its own.
struct ShownRank {
  std::size_t node = 0;
  std::int64_t rank = -1;  // -1: not known
  bool is_only = true;     // of its node: then all rows of the node's record are this rank's

  bool has(const record::Figure& of_row) const { return is_only || of_row.value_or(-1) == rank; }
};

Lane lane_of(const RunData& run, const ShownRank& shown, LaneKind kind) {
  Lane lane{.node = run.nodes[shown.node].name, .kind = kind};
  lane.rank = shown.is_only ? run.nodes[shown.node].rank() : std::optional(shown.rank);
  return lane;
}

Lane steps_lane(const RunData& run, const Inquiry& inquiry, const ShownRank& shown,
                std::size_t most) {
  const NodeData& node = run.nodes[shown.node];
  Lane lane = lane_of(run, shown, LaneKind::Steps);
  lane.names = {"step"};
  const auto is_shown = [&](const record::Step& step) {
    return step.source == inquiry.steps.source && shown.has(step.rank);
  };
  for (const record::Step& step : node.steps) {
    if (is_shown(step)) {
      lane.all = math::saturated_sum(lane.all, std::max<std::int64_t>(step.merged, 1));
    }
  }
  const Thinned thinned(known_span(node), static_cast<std::size_t>(lane.all), most);
  for (const record::Step& step : node.steps) {
    if (is_shown(step) && thinned.shows(step.start_ns)) {
      lane.entries.push_back(
          {.span = on_common_clock(inquiry.clocks, shown.node, {step.start_ns, step.end_ns})});
    }
  }
  lane.source = fmt::format("steps of {}, by {}", node.name,
                            inquiry.steps.source ? name_of(*inquiry.steps.source) : "none");
  return lane;
}

Lane collectives_lane(const RunData& run, const Inquiry& inquiry, const ShownRank& shown,
                      std::size_t most) {
  const NodeData& node = run.nodes[shown.node];
  Lane lane = lane_of(run, shown, LaneKind::Collectives);
  lane.all = std::ranges::count_if(
      node.collectives, [&](const record::Collective& each) { return shown.has(each.rank); });
  lane.source = "collectives of " + node.name;
  const Thinned thinned(known_span(node), static_cast<std::size_t>(lane.all), most);
  std::map<record::CollectiveKind, std::size_t> names;
  for (const record::Collective& each : node.collectives) {
    if (!shown.has(each.rank) || !thinned.shows(each.start_ns)) {
      continue;
    }
    const auto [name, is_new] = names.emplace(each.kind, lane.names.size());
    if (is_new) {
      const std::string_view word = word_of(each.kind);
      lane.names.emplace_back(word.empty() ? "unknown" : word);
    }
    LaneEntry entry{
        .span = on_common_clock(inquiry.clocks, shown.node, {each.start_ns, each.end_ns}),
        .name = name->second};
    if (each.bytes.known()) {
      entry.bytes = static_cast<double>(each.bytes.value());
    }
    lane.entries.push_back(entry);
  }
  return lane;
}

Lane waiting_lane(const RunData& run, const Inquiry& inquiry, const ShownRank& shown,
                  std::size_t most) {
  const NodeData& node = run.nodes[shown.node];
  Lane lane = lane_of(run, shown, LaneKind::Waiting);
  lane.names = {"the others wait for " +
                (shown.is_only ? node.name : fmt::format("rank {}", shown.rank))};
  lane.source = "who came when to the collectives of all nodes";
  const auto is_waited_for = [&](const Late& late) {
    return late.node == shown.node && (shown.is_only || late.rank == shown.rank);
  };
  lane.all = std::ranges::count_if(inquiry.phases.late, is_waited_for);
  const Thinned thinned(on_common_clock(inquiry.clocks, shown.node, known_span(node)),
                        static_cast<std::size_t>(lane.all), most);
  for (const Late& late : inquiry.phases.late) {
    if (is_waited_for(late) && thinned.shows(late.waited.start_ns)) {
      lane.entries.push_back({.span = late.waited});
    }
  }
  return lane;
}

// In order. Of a rank nothing else need be known than that it exchanged something.
std::vector<std::int64_t> ranks_on(const NodeData& node) {
  std::vector<std::int64_t> ranks;
  for (const record::Collective& each : node.collectives) {
    if (each.rank.known()) {
      ranks.push_back(each.rank.value());
    }
  }
  sort_unique(ranks);
  return ranks;
}

double lateness_ms(const Phases& phases, std::size_t node, std::int64_t rank) {
  const auto found = std::ranges::find_if(phases.ranks, [&](const RankLateness& each) {
    return each.node == node && each.rank == rank;
  });
  return found == phases.ranks.end() ? 0 : found->late_ms;
}

// Of each node those that others waited for longest.
std::vector<ShownRank> shown_ranks(const RunData& run, const Inquiry& inquiry, std::size_t most,
                                   std::vector<std::string>& remarks) {
  const std::size_t each =
      std::max<std::size_t>(1, most / std::max<std::size_t>(1, run.nodes.size()));
  std::vector<ShownRank> shown;
  std::size_t all = 0;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::vector<std::int64_t> ranks = ranks_on(run.nodes[place]);
    if (ranks.size() < 2) {
      shown.push_back({.node = place});
      ++all;
      continue;
    }
    all += ranks.size();
    std::ranges::stable_sort(ranks, std::greater<>(), [&](std::int64_t rank) {
      return lateness_ms(inquiry.phases, place, rank);
    });
    ranks.resize(std::min(ranks.size(), each));
    std::ranges::sort(ranks);
    for (const std::int64_t rank : ranks) {
      shown.push_back({.node = place, .rank = rank, .is_only = false});
    }
  }
  if (shown.size() < all) {
    remarks.push_back(
        fmt::format("of {} ranks {} have lanes: of each node those that others waited for longest",
                    all, shown.size()));
  }
  return shown;
}

// Of each rank: its steps, its collectives, and how long others waited for it.
std::vector<Lane> lanes_of(const RunData& run, const Inquiry& inquiry, const TimelineLimits& limits,
                           std::vector<std::string>& remarks) {
  const std::vector<ShownRank> ranks = shown_ranks(run, inquiry, limits.ranks, remarks);
  const std::size_t count = std::max<std::size_t>(1, ranks.size());
  std::vector<Lane> lanes;
  for (const ShownRank& rank : ranks) {
    for (Lane lane : {steps_lane(run, inquiry, rank, limits.steps / count),
                      collectives_lane(run, inquiry, rank, limits.collectives / count),
                      waiting_lane(run, inquiry, rank, limits.collectives / count)}) {
      if (!lane.entries.empty()) {
        lanes.push_back(std::move(lane));
      }
    }
  }
  return lanes;
}

constexpr std::size_t kMinBins = 60;

Span whole_span(const RunData& run, const Clocks& clocks) {
  std::optional<Span> whole;
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    const Span own = known_span(run.nodes[node]);
    if (own.length_ns() <= 0) {
      continue;
    }
    const Span common = on_common_clock(clocks, node, own);
    whole = whole ? Span{std::min(whole->start_ns, common.start_ns),
                         std::max(whole->end_ns, common.end_ns)}
                  : common;
  }
  return whole.value_or(Span{});
}

// The page's second 0 by the wall clock of the node whose clock is the common one.
std::int64_t wall_of(const RunData& run, const Clocks& clocks, std::int64_t common_ns) {
  if (clocks.reference >= run.nodes.size()) {
    return 0;
  }
  const NodeData& node = run.nodes[clocks.reference];
  if (node.wall_start_ns <= 0) {
    return 0;  // the record lost its sessions
  }
  return node.wall_start_ns + clocks.local_ns(clocks.reference, common_ns) - node.span.start_ns;
}

std::vector<NodeTime> node_times(const RunData& run, const Clocks& clocks) {
  std::vector<NodeTime> times;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const NodeClock& clock = clocks.nodes[place];
    NodeTime& time =
        times.emplace_back(NodeTime{.name = run.nodes[place].name, .clock_source = clock.source});
    if (clock.error_ns) {
      time.clock_error_ms = static_cast<double>(*clock.error_ns) / 1e6;
    }
    for (const record::Process& process : run.nodes[place].processes) {
      if (process.rank.known()) {
        time.ranks.push_back(process.rank.value());
      }
    }
    sort_unique(time.ranks);
  }
  return times;
}

// All nodes have the same windows: those of the first node that has some.
std::vector<Span> common_windows(const RunData& run, const Clocks& clocks) {
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    std::vector<Span> windows;
    for (const Span& window : run.nodes[place].windows) {
      windows.push_back(on_common_clock(clocks, place, window));
    }
    if (!windows.empty()) {
      return windows;
    }
  }
  return {};
}

std::size_t bins_for(std::size_t values, std::size_t tracks, std::size_t most) {
  return std::clamp(values / std::max<std::size_t>(tracks, 1), kMinBins, std::max(most, kMinBins));
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

// The number of node tracks is known only once they are made: so they are made twice, first with
// few bins.
void add_tracks(const RunData& run, const Inquiry& inquiry, const TimelineLimits& limits,
                Timeline& timeline) {
  const std::size_t flows = std::min(run.connections.size(), limits.flows);
  const std::size_t flow_bins = bins_for(limits.flow_values, flows * kTracksOfFlow, limits.bins);
  const std::size_t tracks =
      node_tracks(maker_of(run, inquiry, limits, {kMinBins, flow_bins}, timeline)).size();
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

TimeAxis time_axis(Span whole, std::span<const Span> windows, std::size_t bins,
                   std::int64_t shortest_ns) {
  TimeAxis axis;
  if (whole.length_ns() <= 0) {
    return axis;
  }
  const Spans fine = common_to(windows, std::span(&whole, 1));
  const std::size_t coarse_bins = fine.empty() ? bins : bins / 2;
  add_edges(whole, bin_length(whole.length_ns(), coarse_bins, shortest_ns), axis.edges_ns);
  const std::int64_t fine_ns = bin_length(length_ns(fine), bins - coarse_bins, shortest_ns);
  for (const Span& window : fine) {
    std::erase_if(axis.edges_ns, [&](std::int64_t edge) {
      return edge > window.start_ns && edge < window.end_ns;
    });
    add_edges(window, fine_ns, axis.edges_ns);
  }
  sort_unique(axis.edges_ns);
  return axis;
}

Span known_span(const NodeData& node) {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 2;
  if (node.span.end_ns < kEndless) {
    return node.span;
  }
  Span span{kEndless, 0};
  for (const record::Collective& each : node.collectives) {
    span = {std::min(span.start_ns, each.start_ns), std::max(span.end_ns, each.end_ns)};
  }
  for (const record::Step& step : node.steps) {
    span = {std::min(span.start_ns, step.start_ns), std::max(span.end_ns, step.end_ns)};
  }
  for (const SeriesData& series : node.series) {
    if (!series.readings.empty()) {
      span = {std::min(span.start_ns, series.readings.front().t_ns),
              std::max(span.end_ns, series.readings.back().t_ns)};
    }
  }
  return span.length_ns() > 0 ? span : Span{};
}

ShownSteps shown_steps(const StepLine& steps, std::size_t most) {
  ShownSteps shown{.source = steps.source, .all = static_cast<std::int64_t>(steps.all.size())};
  const std::size_t together = shown_as_one(steps.all.size(), most);
  for (std::size_t first = 0; first < steps.all.size(); first += together) {
    const std::size_t last = std::min(first + together, steps.all.size()) - 1;
    const Span span{steps.all[first].start_ns, steps.all[last].end_ns};
    const auto settled =
        std::ranges::lower_bound(steps.settled, span.start_ns, {}, &Span::start_ns);
    shown.steps.push_back(
        {.span = span,
         .count = static_cast<std::int64_t>(last - first + 1),
         .is_settled = settled != steps.settled.end() && settled->start_ns < span.end_ns});
  }
  return shown;
}

std::vector<Span> joined(std::vector<Span> spans, std::size_t most) {
  if (spans.size() <= most || most == 0) {
    return spans;
  }
  std::vector<std::int64_t> pauses;
  for (std::size_t next = 1; next < spans.size(); ++next) {
    pauses.push_back(spans[next].start_ns - spans[next - 1].end_ns);
  }
  const auto kept = pauses.begin() + static_cast<std::ptrdiff_t>(most - 1);
  std::ranges::nth_element(pauses, kept, std::greater<>());
  const std::int64_t longest_hidden = *kept;
  std::vector<Span> fewer = {spans.front()};
  for (const Span& span : spans | std::views::drop(1)) {
    if (span.start_ns - fewer.back().end_ns <= longest_hidden) {
      fewer.back().end_ns = span.end_ns;
    } else {
      fewer.push_back(span);
    }
  }
  return fewer;
}

Timeline timeline_of(const RunData& run, const Inquiry& inquiry,
                     const std::vector<StepAccounts>& steps, const TimelineLimits& limits) {
  Timeline timeline{.span = whole_span(run, inquiry.clocks)};
  timeline.wall_start_ns = wall_of(run, inquiry.clocks, timeline.span.start_ns);
  timeline.nodes = node_times(run, inquiry.clocks);
  timeline.windows = common_windows(run, inquiry.clocks);
  remark_on_windows(timeline, timeline.remarks);
  add_tracks(run, inquiry, limits, timeline);
  timeline.steps = shown_steps(inquiry.steps, limits.steps);
  timeline.lanes = lanes_of(run, inquiry, limits, timeline.remarks);
  timeline.communicating = joined(inquiry.phases.communicating, limits.communicating);
  timeline.moments = moments_of(run, inquiry, steps, limits.moments, timeline.remarks);
  return timeline;
}

std::vector<StepBar> step_bars(const std::vector<StepAccounts>& accounts, const StepLine& steps,
                               std::size_t most) {
  std::vector<StepBar> bars;
  const std::size_t together = shown_as_one(accounts.size(), most);
  for (std::size_t first = 0; first < accounts.size(); first += together) {
    const std::size_t count = std::min(together, accounts.size() - first);
    const std::int64_t start_ns = accounts[first].span.start_ns;
    const auto number = std::ranges::lower_bound(steps.all, start_ns, {}, &Span::start_ns);
    StepBar bar{.number = number - steps.all.begin() + 1,
                .start_ns = start_ns,
                .count = static_cast<std::int64_t>(count)};
    for (std::size_t step = first; step < first + count; ++step) {
      for (std::size_t account = 0; account < kAccounts; ++account) {
        bar.accounting.ms.at(account) +=
            accounts[step].accounting.ms.at(account) / static_cast<double>(count);
      }
    }
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace chokepoint::analysis
