#include "analysis/live/live_run.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analysis/load/node_loader.h"
#include "analysis/load/run_summary.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/record/names.h"
#include "base/record/stall.h"

namespace chokepoint::analysis {
namespace {

// Counters that hardly change are written once in ten seconds: docs/internals/run-counters.md.
constexpr std::int64_t kReadSpanNs = 12'000'000'000;
constexpr std::int64_t kRateSpanNs = 2'000'000'000;
constexpr std::size_t kStepsShown = 64;

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) / math::kNsPerSecond; }

// Of all series of this name together; empty if there is none.
std::optional<double> mbps(const NodeData& node, std::string_view name, Span span) {
  std::optional<double> sum;
  for (const SeriesData* series : node.find(name)) {
    if (const auto bytes = growth(*series, span)) {
      sum = sum.value_or(0) + *bytes * math::kBits / math::kMega / seconds_of(span.length_ns());
    }
  }
  return sum;
}

std::optional<double> busiest_core_percent(const NodeData& node, Span span) {
  std::optional<double> most;
  for (const SeriesData* core : node.find(record::kCpuBusy)) {
    const auto busy_ns = growth(*core, span);
    if (busy_ns && core->row.subject != "all") {
      const double percent = math::kPercent * *busy_ns / static_cast<double>(span.length_ns());
      most = std::max(most.value_or(0), percent);
    }
  }
  return most ? std::optional(std::min(*most, math::kPercent)) : std::nullopt;
}

std::optional<double> gpu_percent(const NodeData& node, Span span) {
  std::vector<double> levels;
  for (const SeriesData* gpu : node.find(record::kGpuUtilization)) {
    if (const auto level = mean_level(*gpu, span)) {
      levels.push_back(*level);
    }
  }
  return math::mean(levels);
}

// Of the samples that were read; from packets where they were captured, else from sockets.
void take_connections(const NodeData& node, LiveNode& live) {
  double packets = 0;
  double retransmitted = 0;
  double bytes = 0;
  double bytes_again = 0;
  std::vector<double> round_trips;
  for (const FlowData& flow : node.flows) {
    for (const std::vector<record::FlowSample>& samples : flow.packets) {
      for (const record::FlowSample& sample : samples) {
        packets += static_cast<double>(sample.packets.value_or(0));
        retransmitted += static_cast<double>(sample.retransmitted_packets.value_or(0));
      }
    }
    for (const std::vector<record::SocketSample>& samples : flow.sockets) {
      if (samples.empty()) {
        continue;
      }
      const auto grown = [&](record::Figure record::SocketSample::* figure) {
        const std::int64_t before = (samples.front().*figure).value_or(0);
        const std::int64_t after = (samples.back().*figure).value_or(0);
        return static_cast<double>(std::max<std::int64_t>(after - before, 0));
      };
      bytes += grown(&record::SocketSample::bytes_sent);
      bytes_again += grown(&record::SocketSample::bytes_retransmitted);
      if (const std::int64_t rtt_us = samples.back().rtt_us.value_or(0); rtt_us > 0) {
        round_trips.push_back(static_cast<double>(rtt_us) / 1e3);
      }
    }
  }
  live.rtt_ms = math::median(round_trips);
  if (packets > 0) {
    live.retransmitted_percent = math::kPercent * retransmitted / packets;
  } else if (bytes > 0) {
    live.retransmitted_percent = math::kPercent * bytes_again / bytes;
  }
}

double own_ms(const record::Step& step) {
  const auto whole_ns = static_cast<double>(step.busy_ns.value_or(step.end_ns - step.start_ns));
  return whole_ns / static_cast<double>(std::max<std::int64_t>(step.merged, 1)) / math::kNsPerMs;
}

// Of the best source, and of the rank that has most.
void take_steps(const NodeData& node, LiveNode& live) {
  std::optional<record::StepSource> source;
  for (const record::Step& step : node.steps) {
    source = std::min(source.value_or(step.source), step.source);
  }
  std::map<std::int64_t, std::vector<const record::Step*>> by_rank;
  for (const record::Step& step : node.steps) {
    if (step.source == source) {
      by_rank[step.rank.value_or(-1)].push_back(&step);
    }
  }
  const auto most =
      std::ranges::max_element(by_rank, {}, [](const auto& rank) { return rank.second.size(); });
  if (most == by_rank.end()) {
    return;
  }
  const auto& steps = most->second;
  for (const record::Step* step : std::span(steps).last(std::min(kStepsShown, steps.size()))) {
    live.recent_ms.push_back(own_ms(*step));
  }
  live.step_source = name_of(*source);
  live.step = steps.back()->number;
  live.since_step_s = seconds_of(node.span.end_ns - steps.back()->end_ns);
  live.step_ms = live.recent_ms.back();
  live.median_ms = math::median(live.recent_ms);
}

std::optional<double> stalled_s(const NodeData& node) {
  const auto last =
      std::find_if(node.events.rbegin(), node.events.rend(),
                   [](const record::Event& event) { return event.kind == record::kStall; });
  if (last == node.events.rend()) {
    return std::nullopt;
  }
  const auto stall = record::stall_in(last->detail);
  return stall && stall->state == record::StallState::Stands
             ? std::optional(seconds_of(node.span.end_ns - stall->since_ns))
             : std::nullopt;
}

NodeState state_of(const NodeData& node, bool is_being_written) {
  return node.is_complete   ? NodeState::Ended
         : is_being_written ? NodeState::Running
                            : NodeState::CutOff;
}

}  // namespace

LiveNode live_node(record::Reader& reader, bool is_being_written) {
  NodeData node = load_node(reader);
  const std::int64_t end_ns = node.span.end_ns;
  load_samples(
      reader,
      {.whole = with_slack(node.span), .windows = {{end_ns - kReadSpanNs, end_ns}}, .is_whole = {}},
      node);
  LiveNode live{.name = node.name,
                .state = state_of(node, is_being_written),
                .command = node.command,
                .exit_status = node.exit_status,
                .elapsed_s = seconds_of(node.span.length_ns())};
  for (const record::Process& process : node.processes) {
    if (process.rank.known()) {
      live.ranks.push_back(process.rank.value());
    }
  }
  const auto [first, last] = std::ranges::unique(live.ranks);
  live.ranks.erase(first, last);
  take_steps(node, live);
  if (live.state == NodeState::Running) {
    const Span now{end_ns - kRateSpanNs, end_ns};
    // RDMA that is seen in packets is in both.
    live.sent_mbps =
        std::max(mbps(node, record::kJobSentBytes, now), mbps(node, record::kRdmaSentBytes, now));
    live.received_mbps = std::max(mbps(node, record::kJobReceivedBytes, now),
                                  mbps(node, record::kRdmaReceivedBytes, now));
    live.core_percent = busiest_core_percent(node, now);
    live.gpu_percent = gpu_percent(node, now);
    live.stalled_s = stalled_s(node);
    take_connections(node, live);
  }
  live.trouble = node.damage ? describe(*node.damage) : "";
  return live;
}

}  // namespace chokepoint::analysis
