// A run as one JSON document, chokepoint.export/1, written as the rows come: for each node what is
// known of it and its clock, and its tables as a list of columns and a list of rows, each a list of
// values. The caller's thread.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "analysis/export/exported_run.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

// `head`: the fields that every document begins with. out.finish() returns its Error.
void write_json(ExportedRun& run, const nlohmann::ordered_json& head, cli::Output& out);

// Appends the text as a JSON string with its quotes. Names and commands may hold anything: quotes,
// control characters, bytes that are not UTF-8; the result is valid. Pure; any thread.
void append_json(std::string& out, std::string_view text);

}  // namespace chokepoint::analysis
