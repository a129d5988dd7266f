#include "analysis/load/run_summary.h"

#include <algorithm>

#include "analysis/load/code_words.h"
#include "analysis/load/node_summary.h"
#include "analysis/load/node_turns.h"

namespace chokepoint::analysis {
namespace {

void add(std::optional<double>& sum, std::optional<double> value) {
  if (value) {
    sum = sum.value_or(0) + *value;
  }
}

void raise(std::optional<double>& most, std::optional<double> value) {
  if (value) {
    most = std::max(most.value_or(*value), *value);
  }
}

// Nodes see the same steps: durations are pooled, the count is that of one of them.
void join(Steps& all, const Steps& steps) {
  if (!steps.source || (all.source && *all.source < *steps.source)) {
    return;
  }
  if (all.source != steps.source) {
    all = {.source = steps.source};
  }
  all.count = std::max(all.count, steps.count);
  all.weighed_ms.insert(all.weighed_ms.end(), steps.weighed_ms.begin(), steps.weighed_ms.end());
}

void join(RunSummary& run, const NodeSummary& node) {
  run.command = run.command.empty() ? node.command : run.command;
  if (node.exit_status && run.exit_status.value_or(0) == 0) {
    run.exit_status = node.exit_status;
  }
  raise(run.duration_s, node.duration_s);
  raise(run.overhead_percent, node.overhead_percent);
  add(run.volume.sent_bytes, node.volume.sent_bytes);
  add(run.volume.received_bytes, node.volume.received_bytes);
  join(run.steps, node.steps);
  run.dropped += node.dropped;
}

}  // namespace

std::optional<double> full_duplex_mbps(const Volume& volume, std::optional<double> duration_s) {
  if (!volume.sent_bytes || !volume.received_bytes || duration_s.value_or(0) <= 0) {
    return std::nullopt;
  }
  return (*volume.sent_bytes + *volume.received_bytes) * 8 / 1e6 / *duration_s;
}

const char* name_of(record::StepSource source) {
  const std::string_view word = word_of(source);  // of literals, so it ends as one
  return word.empty() ? "unknown" : word.data();
}

std::optional<double> step_quantile_ms(const Steps& steps, double share) {
  std::vector<std::pair<double, double>> sorted = steps.weighed_ms;
  std::ranges::sort(sorted);
  double total = 0;
  for (const auto& [ms, weight] : sorted) {
    total += weight;
  }
  double below = 0;
  for (const auto& [ms, weight] : sorted) {
    below += weight;
    if (below >= share * total) {
      return ms;
    }
  }
  return std::nullopt;
}

RunSummary summarize(record::Run& run, const SummaryOptions& options) {
  RunSummary summary{.unreadable = run.unreadable};
  summary.nodes.resize(run.nodes.size());
  for_each_node(run.nodes.size(), [&](std::size_t node) {
    summary.nodes[node] = summarize_node(run.nodes[node], options);
  });
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    if (const auto labels = run.nodes[node].all<record::Label>()) {
      for (const record::Label& label : *labels) {
        summary.labels[label.key] = label.value;
      }
    }
    join(summary, summary.nodes[node]);
  }
  return summary;
}

}  // namespace chokepoint::analysis
