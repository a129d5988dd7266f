// A run as one JSON document, chokepoint.export/1, written as the rows come: for each node what is
// known of it and its clock, and its tables as a list of columns and a list of rows, each a list of
// values. The caller's thread.
#pragma once

#include <nlohmann/json.hpp>

#include "analysis/export/exported_run.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

// `head`: the fields that every document begins with. What it fails by is told by out.finish().
void write_json(ExportedRun& run, const nlohmann::ordered_json& head, cli::Output& out);

}  // namespace chokepoint::analysis
