// All that a report tells of a run: the diagnosis, what it rests on, how the run went moment by
// moment, its connections, hosts and paths. The page, the text and the document are views of it.
// Reading takes the caller's thread and helpers of its own.
#pragma once

#include <vector>

#include "analysis/attribution/inquiry.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/flow_table.h"
#include "analysis/report/host_picture.h"
#include "analysis/report/path_picture.h"
#include "analysis/report/probe_table.h"
#include "analysis/report/step_bars.h"
#include "analysis/report/timeline.h"
#include "analysis/report/traffic_matrix.h"

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
  std::vector<std::string> missing = {};  // what was not measured and why, a line each
};

// Reads more of the records than the inquiry needed, into `run`.
Report report_of(record::Run& records, RunData& run, const Inquiry& inquiry,
                 const DiagnoseOptions& options);

}  // namespace chokepoint::analysis
