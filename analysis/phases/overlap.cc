#include "analysis/phases/overlap.h"

#include <algorithm>
#include <string>

#include "analysis/phases/asynchronous.h"
#include "analysis/phases/lines.h"
#include "analysis/phases/pipeline.h"
#include "analysis/phases/steps.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kProcessorsCompute = 0.6;  // of the time in which nothing was under way
constexpr double kBucketBytes = 25e6;

// Who waits for a GPU's stream spins, and looks as if the processor computed.
bool has_gpu(const NodeData& node) {
  return !node.find(record::kGpuUtilization).empty() ||
         std::ranges::any_of(node.collectives,
                             [](const record::Collective& each) {
                               return each.source == record::CollectiveSource::Nccl;
                             }) ||
         std::ranges::any_of(node.events, [](const record::Event& event) {
           return event.kind == record::kGpuProcess;
         });
}

double worked_ns(const OverlapInput& input, std::size_t node, const SeriesData& thread) {
  double sum_ns = 0;
  for (const Span& span : united(input.steps)) {
    const Span local{input.clocks.local_ns(node, span.start_ns),
                     input.clocks.local_ns(node, span.end_ns)};
    sum_ns += growth(thread, local).value_or(0);
  }
  return sum_ns;
}

// What a job's first thread worked, a step, on the node where it worked most.
double worked_ms(const OverlapInput& input) {
  double most_ms = 0;
  for (std::size_t node = 0; node < input.run.nodes.size(); ++node) {
    for (const SeriesData* series : input.run.nodes[node].find(record::kThreadCpu)) {
      if (series->row.subject.ends_with(" (main)")) {
        most_ms = std::max(most_ms, worked_ns(input, node, *series) / 1e6 / input.count);
      }
    }
  }
  return most_ms;
}

bool is_any_message(const Exchanges& exchanges) {
  return std::ranges::any_of(
      exchanges, [](const auto& of_node) { return std::ranges::any_of(of_node, is_message); });
}

double hidden_of(const Line& line, const Spans& steps) {
  double hidden_ns = 0;
  for (const StageGap& bead : line.beads) {
    hidden_ns += bead.unwaited && !bead.queued
                     ? static_cast<double>(bead.exchange->end_ns - bead.exchange->all_ready_ns)
                     : 0;
  }
  for (const Burst& burst : line.bursts) {
    const std::int64_t begin_ns = line.beads[burst.first].exchange->own_ready_ns;
    hidden_ns += covers(steps, begin_ns) ? burst.hidden_ns : 0;
  }
  return hidden_ns;
}

// Of the rank that never waits for another its gaps are its computing.
double collectives_ms(const OverlapInput& input) {
  double hidden_ns = 0;
  double most_gaps_ns = -1;
  for (const auto& of_node : input.exchanges) {
    for (Line& line : lines_of(of_node)) {
      mark_unwaited(line, input.steps);
      double gaps_ns = 0;
      for (const StageGap& bead : line.beads) {
        gaps_ns += static_cast<double>(bead.gap_ns);
      }
      if (!line.beads.empty() && gaps_ns > most_gaps_ns) {
        most_gaps_ns = gaps_ns;
        hidden_ns = hidden_of(line, input.steps);
      }
    }
  }
  return hidden_ns / 1e6 / input.count;
}

double sent_bytes(const RunData& run) {
  double most = 0;
  for (const Connection& connection : run.connections) {
    for (const auto& end : connection.ends) {
      if (end) {
        for (const record::FlowTotal& total : run.nodes[end->node].flows[end->flow].totals) {
          most = std::max(most, static_cast<double>(total.payload_bytes.value_or(0)));
        }
      }
    }
  }
  return most;
}

double buckets_ms(const OverlapInput& input) {
  const double bytes = sent_bytes(input.run) / count_between(input.steps);
  const double first_share = bytes > 0 ? std::min(1.0, kBucketBytes / bytes) : 1;
  return backward_of(input.alone_ms, first_share) * (1 - first_share);
}

}  // namespace

double hidden_ms(const OverlapInput& input) {
  if (input.count <= 0 || input.steps.empty()) {
    return 0;
  }
  const bool is_on_processors = std::ranges::none_of(input.run.nodes, has_gpu);
  const double worked = is_on_processors ? worked_ms(input) : 0;
  if (worked > kProcessorsCompute * input.alone_ms) {
    return std::max(0.0, worked - input.alone_ms);
  }
  if (is_any_message(input.exchanges)) {
    const auto ideal_ns = ideal_step_ns(input.exchanges, input.steps);
    return ideal_ns ? std::max(0.0, *ideal_ns / 1e6 - input.alone_ms) : 0;
  }
  const bool is_any =
      std::ranges::any_of(input.exchanges, [](const auto& of_node) { return !of_node.empty(); });
  return is_any ? collectives_ms(input) : buckets_ms(input);
}

}  // namespace chokepoint::analysis
