// The formats of an exported run that are made of text.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "analysis/attribution/diagnosis.h"
#include "analysis/export/exported_run.h"
#include "base/cli/output.h"
#include "base/metrics/metric_text.h"
#include "base/otlp/otlp.h"

namespace chokepoint::analysis {

// A run as a folder of CSV files: one for each table that has rows, all nodes in it, with a `node`
// column; `nodes.csv` describes each node and its clock, `columns.csv` what the columns mean. The
// files get their names together when all are complete. The caller's thread.

struct WrittenFile {
  std::filesystem::path path = {};
  std::uintmax_t bytes = 0;
};

// Creates the folder, but not its parent. An export that fails or is stopped leaves nothing.
Result<std::vector<WrittenFile>> write_csv(ExportedRun& run, const std::filesystem::path& folder);

// A run as one JSON document, chokepoint.export/1, written as the rows come: for each node what is
// known of it and its clock, and its tables as a list of columns and a list of rows, each a list of
// values. The caller's thread.

// `head`: the fields that every document begins with. out.finish() returns its Error.
void write_json(ExportedRun& run, const nlohmann::ordered_json& head, cli::Output& out);

// Appends the text as a JSON string with its quotes. Names and commands may hold anything: quotes,
// control characters, bytes that are not UTF-8; the result is valid. Pure; any thread.
void append_json(std::string& out, std::string_view text);

// A run's final figures in Prometheus' text format, for the textfile collector of node_exporter:
// what `run --metrics` serves while a job runs, as it stood at the end, and the verdict. Every
// sample names its run, so that files of several runs may lie in one folder. No times: the
// collector refuses them. Pure.

std::string prometheus_text(ExportedRun& run, const Diagnosis& diagnosis);
// The same figures, for other forms than text.
metrics::MetricText metrics_of(ExportedRun& run, const Diagnosis& diagnosis);

// A run for OpenTelemetry: its final figures as metrics, under the names that Prometheus gets, and
// one trace with a span of the run, one of each node and one of each step. Documents of base/otlp,
// a limited number of spans in each. The caller's thread.

// Each document as it is made; false stops the export.
using OnOtlp = std::function<bool(otlp::Signal signal, const std::string& document)>;

// How many spans it wrote.
std::uint64_t write_otlp(ExportedRun& run, const Diagnosis& diagnosis,
                         const std::string& program_version, otlp::Form form,
                         const OnOtlp& on_document);

}  // namespace chokepoint::analysis
