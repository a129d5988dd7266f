#include "analysis/attribution/rdma_phases.h"

#include <algorithm>

#include "analysis/attribution/judgement.h"
#include "analysis/attribution/rdma_ports.h"
#include "analysis/phases/activity.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMostly = 4;  // ports count storage and others' jobs, too

Phases unseen(const RunData& run, const Clocks& clocks, const StepLine& steps, const Phases& seen) {
  const double needed_ms =
      wire_ms(all_rdma_ports(run, clocks, steps), count_between(steps.settled));
  const bool is_little = needed_ms > 0 && needed_ms < kMattersPercent / 100 * seen.step_ms;
  Phases phases{.step_ms = seen.step_ms, .late_ms = std::vector<double>(run.nodes.size(), 0)};
  phases.exposed_ms = is_little ? needed_ms : seen.step_ms;
  phases.computing_ms = seen.step_ms - phases.exposed_ms;
  return phases;
}

Phases by_packets(const StepLine& steps, const Phases& seen, const Spans& moving) {
  Phases phases{.source = PhaseSource::Packets,
                .step_ms = seen.step_ms,
                .late_ms = std::vector<double>(seen.late_ms.size(), 0),
                .communicating = moving};
  const double moving_ms = static_cast<double>(length_ns(moving)) / 1e6;
  phases.exposed_ms = std::min(seen.step_ms, moving_ms / count_between(steps.settled));
  phases.computing_ms = seen.step_ms - phases.exposed_ms;
  return phases;
}

}  // namespace

bool goes_by_rdma(const RunData& run, const Clocks& clocks, const StepLine& steps) {
  double by_rdma = 0;
  for (const RdmaPort& port : all_rdma_ports(run, clocks, steps)) {
    by_rdma += port.sent_bytes + port.received_bytes;
  }
  double by_sockets = 0;
  for (std::size_t place = 0; place < run.nodes.size(); ++place) {
    const Span span = settled_span(run, clocks, steps, place);
    for (const std::string_view name : {record::kJobSentBytes, record::kJobReceivedBytes}) {
      for (const SeriesData* series : run.nodes[place].find(name)) {
        by_sockets += growth(*series, span).value_or(0);
      }
    }
  }
  return by_rdma > kMostly * by_sockets;
}

Phases rdma_phases(const RunData& run, const Clocks& clocks, const StepLine& steps, Phases seen) {
  if (seen.source == PhaseSource::Library) {
    return seen;
  }
  const Spans moving = common_to(roce_activity(run, clocks), united(steps.settled));
  return moving.empty() ? unseen(run, clocks, steps, seen) : by_packets(steps, seen, moving);
}

}  // namespace chokepoint::analysis
