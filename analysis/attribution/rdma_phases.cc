#include "analysis/attribution/rdma_phases.h"

#include "analysis/attribution/judgement.h"
#include "analysis/attribution/rdma_ports.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMostly = 4;  // ports count storage and others' jobs, too

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
  const double needed_ms =
      wire_ms(all_rdma_ports(run, clocks, steps), count_between(steps.settled));
  const bool is_little = needed_ms > 0 && needed_ms < kMattersPercent / 100 * seen.step_ms;
  Phases unseen{.step_ms = seen.step_ms, .late_ms = std::vector<double>(run.nodes.size(), 0)};
  unseen.exposed_ms = is_little ? needed_ms : seen.step_ms;
  unseen.computing_ms = seen.step_ms - unseen.exposed_ms;
  return unseen;
}

}  // namespace chokepoint::analysis
