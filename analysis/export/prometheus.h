// A run's final figures in Prometheus' text format, for the textfile collector of node_exporter:
// what `run --metrics` serves while a job runs, as it stood at the end, and the verdict. Every
// sample names its run, so that files of several runs may lie in one folder. No times: the
// collector refuses them. Pure.
#pragma once

#include <string>

#include "analysis/attribution/diagnosis.h"
#include "analysis/export/exported_run.h"

namespace chokepoint::analysis {

std::string prometheus_text(ExportedRun& run, const Diagnosis& diagnosis);

}  // namespace chokepoint::analysis
