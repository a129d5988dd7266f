// A job on one host that waits: for its next batch, a disk, a lock. What worked for it is known
// from the GPUs' counters and its threads' processor time; the rest of the step is nobody's work. A
// thread that waits for its GPU spins, so the two overlap and the larger of them counts.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/attribution/findings.h"
#include "analysis/attribution/hosts.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

// Of the time, by all threads together: two that work by turns and two that work at once look
// alike, so this is the most that the job's threads covered.
double threads_share(const NodeData& node, Span span) {
  double ran_ns = 0;
  for (const SeriesData* thread : node.find(record::kThreadCpu)) {
    ran_ns += growth(*thread, span).value_or(0);
  }
  return std::min(1.0, ran_ns / static_cast<double>(std::max<std::int64_t>(span.length_ns(), 1)));
}

// The part in which one thread, or those of one name that take turns, ran or waited for a core.
double ready_share(const NodeData& node, Span span) {
  double most_ns = 0;
  for (const SeriesData* waits : node.find(record::kThreadWait)) {
    const SeriesData* ran = node.find(record::kThreadCpu, waits->row.subject);
    most_ns = std::max(most_ns, growth(*waits, span).value_or(0) +
                                    (ran == nullptr ? 0 : growth(*ran, span).value_or(0)));
  }
  return std::min(1.0, most_ns / static_cast<double>(std::max<std::int64_t>(span.length_ns(), 1)));
}

double kernels_share(const NodeData& node, Span span) {
  double most_percent = 0;
  for (const std::string& gpu : job_gpus(node, span)) {
    most_percent = std::max(most_percent, kernels_percent_of(node, gpu, span));
  }
  return std::min(1.0, most_percent / 100);
}

}  // namespace

void add_idleness(const DiagnosisInput& input, Findings& findings) {
  const NodeData& node = input.run.nodes.front();
  const Span span = input.span_of(0);
  const double step_ms = input.phases.step_ms;
  const double threads = std::max(threads_share(node, span), ready_share(node, span));
  const double kernels = kernels_share(node, span);
  const double copies_ms = findings.accounting[Account::Pcie];
  const double worked_ms = std::max(threads * step_ms, kernels * step_ms + copies_ms);
  const double idle_ms =
      std::clamp(step_ms - worked_ms, 0.0, input.phases.computing_ms - findings.of_computing_ms);
  findings.of_computing_ms += idle_ms;
  findings.hints.push_back({"neither a GPU nor a thread of the job worked", idle_ms, "ms a step",
                            "thread.cpu_ns, gpu.kernels_percent of " + node.name});
  findings.hints.push_back({"its threads ran, or waited for a core, at most", 100 * threads,
                            "% of the time", "thread.cpu_ns of " + node.name});
}

}  // namespace chokepoint::analysis
