// The contents of a report of a run: the diagnosis and its grounds, the timeline, connections,
// hosts and paths. The page, the text and the document show them. report_of() reads records on the
// caller's thread and on threads of its own.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/flow_table.h"
#include "analysis/report/host_picture.h"
#include "analysis/report/path_picture.h"
#include "analysis/report/recorded_probe.h"
#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

struct Report {
  RunSummary summary = {};
  Diagnosis diagnosis = {};
  Timeline timeline = {};
  std::vector<StepBar> bars = {};
  FlowTable flows = {};
  TrafficMatrix matrix = {};
  std::vector<HostPicture> hosts = {};
  std::vector<PathPicture> paths = {};
  ProbeTable probes = {};
  std::vector<RecordedProbe> recorded = {};  // the same probes, whole
  std::vector<std::string> missing = {};     // what was not measured and why, a line each
};

// Reads more of the records into `run` than the inquiry needed.
Report report_of(record::Run& records, RunData& run, const Inquiry& inquiry,
                 const DiagnoseOptions& options);

// Lines for Report::missing: what the records lack for the verdict, what could not be seen of the
// hosts, which probes are missing, what was left out to keep the page small. Pure.
std::vector<std::string> not_measured(const RunData& run, const Report& report);

}  // namespace chokepoint::analysis
