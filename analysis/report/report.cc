#include "analysis/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "analysis/load/overview.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using Lines = std::vector<std::string>;
using Names = std::vector<std::string>;

std::string of_nodes(const Names& nodes) { return fmt::format("{}", fmt::join(nodes, ", ")); }

// What each node reported as not seen; one line for nodes that report the same.
void add_unseen(const RunData& run, Lines& lines) {
  std::map<std::pair<std::string, std::string>, Names> nodes;
  for (const NodeData& node : run.nodes) {
    for (const record::Fact& fact : node.facts) {
      if (fact.category == record::kNotSeen) {
        nodes[{fact.subject, fact.value}].push_back(node.name);
      }
    }
  }
  for (const auto& [what, where] : nodes) {
    const auto& [subject, reason] = what;
    lines.push_back(
        fmt::format("{}{}: {}", subject.empty() ? "" : subject + " of ", of_nodes(where), reason));
  }
}

Names nodes_without(const RunData& run, std::string_view series_prefix,
                    std::string_view not_seen_subject) {
  Names names;
  for (const NodeData& node : run.nodes) {
    const bool has_any = std::ranges::any_of(node.series, [&](const SeriesData& series) {
      return series.row.name.starts_with(series_prefix);
    });
    const bool is_reported = std::ranges::any_of(node.facts, [&](const record::Fact& fact) {
      return fact.category == record::kNotSeen && fact.subject == not_seen_subject;
    });
    if (!has_any && !is_reported) {
      names.push_back(node.name);
    }
  }
  return names;
}

void add_devices(const RunData& run, Lines& lines) {
  if (const Names names = nodes_without(run, "gpu.", "GPUs"); !names.empty()) {
    lines.push_back("GPUs of " + of_nodes(names) + ": none were seen at work for the job");
  }
  if (const Names names = nodes_without(run, record::kRdmaPrefix, "RDMA"); !names.empty()) {
    lines.push_back("RDMA of " + of_nodes(names) +
                    ": no device there, or none whose counters moved");
  }
}

void add_slots(const Report& report, Lines& lines) {
  for (const HostPicture& host : report.hosts) {
    for (const InterfacePicture& interface : host.interfaces) {
      if (interface.is_used && !interface.pcie) {
        lines.push_back(fmt::format("PCIe of {} on {}: {}", interface.name, host.name,
                                    interface.kind == "virtual"
                                        ? "a virtual interface is in no slot"
                                        : "the host does not say which link it is on"));
      }
    }
  }
}

void add_missing_probes(const Report& report, Lines& lines) {
  if (report.probes.lines.empty()) {
    lines.emplace_back(
        "what the paths could carry: no probe was kept; before a run, 'chokepoint probe tcp HOST "
        "--record DIR' keeps one");
  }
  Names names;
  for (const HostPicture& host : report.hosts) {
    if (!host.doctor) {
      names.push_back(host.name);
    }
  }
  if (!names.empty()) {
    lines.push_back("the set-up of " + of_nodes(names) +
                    ": 'chokepoint doctor --record DIR' was not asked");
  }
}

void add_left_out(const Report& report, Lines& lines) {
  std::ranges::copy(report.timeline.remarks, std::back_inserter(lines));
  std::ranges::copy(report.probes.remarks, std::back_inserter(lines));
  if (report.flows.left_out > 0) {
    lines.push_back(fmt::format("{} connections that carried nothing of the job's are not listed",
                                report.flows.left_out));
  }
}

constexpr std::size_t kMaxBars = 1500;

}  // namespace

std::vector<std::string> not_measured(const RunData& run, const Report& report) {
  Lines lines = report.diagnosis.missing;
  add_unseen(run, lines);
  add_devices(run, lines);
  add_slots(report, lines);
  add_missing_probes(report, lines);
  add_left_out(report, lines);
  return lines;
}

Report report_of(record::Run& records, RunData& run, const Inquiry& inquiry,
                 const DiagnoseOptions& options) {
  Report report{.summary = summarize(records, {.count_rows = false}),
                .diagnosis = inquiry.diagnosis};
  report.summary.steps = report.diagnosis.steps;
  const std::vector<StepAccounts> accounts = step_accounts(run, options, inquiry);
  report.bars = step_bars(accounts, inquiry.steps, kMaxBars);
  add_overview(records, run);
  report.timeline = timeline_of(run, inquiry, accounts);
  report.flows =
      flow_table(run, inquiry.clocks, inquiry.limit_timeline ? &*inquiry.limit_timeline : nullptr,
                 report.timeline.span.start_ns);
  report.matrix = traffic_matrix(run, report.flows, report.summary.duration_s);
  report.hosts = host_pictures(run);
  report.paths = path_pictures(run, inquiry.clocks, report.flows, options.wan_rtt_ms);
  report.probes = probe_table(run, report.paths);
  report.recorded = recorded_probes(run);
  report.missing = not_measured(run, report);
  return report;
}

}  // namespace chokepoint::analysis
