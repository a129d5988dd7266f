#include "analysis/report/report.h"

#include "analysis/load/overview.h"
#include "analysis/report/not_measured.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kMostBars = 1500;

}  // namespace

Report report_of(record::Run& records, RunData& run, const Inquiry& inquiry,
                 const DiagnoseOptions& options) {
  Report report{.summary = summarize(records, {.count_rows = false}),
                .diagnosis = inquiry.diagnosis};
  const std::vector<StepAccounts> accounts = step_accounts(run, options, inquiry);
  report.bars = step_bars(accounts, inquiry.steps, kMostBars);
  add_overview(records, run);
  report.timeline = timeline_of(run, inquiry, accounts);
  report.flows = flow_table(run, inquiry.clocks, inquiry.blame ? &*inquiry.blame : nullptr,
                            report.timeline.span.start_ns);
  report.matrix = traffic_matrix(run, report.flows, report.summary.duration_s);
  report.hosts = host_pictures(run);
  report.paths = path_pictures(run, inquiry.clocks, report.flows, options.wan_rtt_ms);
  report.probes = probe_table(run, report.paths);
  report.missing = not_measured(run, report);
  return report;
}

}  // namespace chokepoint::analysis
