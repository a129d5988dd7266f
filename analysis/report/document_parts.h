// The parts of the report's document as JSON; docs/guide/report.md explains each field. Texts are
// passed on as they are: a page that shows them must not treat them as markup. Pure functions.
#pragma once

#include <optional>
#include <string>

#include "analysis/report/flow_table.h"
#include "analysis/report/host_picture.h"
#include "analysis/report/path_picture.h"
#include "analysis/report/recorded_probe.h"
#include "analysis/report/timeline.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json flows_document(const FlowTable& table);
cli::Json matrix_document(const TrafficMatrix& matrix);
cli::Json hosts_document(const std::vector<HostPicture>& hosts);
cli::Json paths_document(const std::vector<PathPicture>& paths);
cli::Json probes_document(const ProbeTable& table);
cli::Json recorded_document(const std::vector<RecordedProbe>& probes);

cli::Json timeline_document(const Timeline& timeline);
cli::Json moments_document(const Timeline& timeline);
// Null where time was not accounted for.
cli::Json accounting_document(const Diagnosis& diagnosis, const std::vector<StepBar>& bars,
                              std::int64_t origin_ns);

// What a document shows of a value that may not be known: null, never 0 and never an empty text.

template <class T>
cli::Json value_or_null(const std::optional<T>& value) {
  return value ? cli::Json(*value) : cli::Json();
}

inline cli::Json text_or_null(const std::string& text) {
  return text.empty() ? cli::Json() : cli::Json(text);
}

}  // namespace chokepoint::analysis
