// Writes a run in one of the formats, to a file, a folder or standard output. The caller's thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/export/csv.h"
#include "base/cli/context.h"

namespace chokepoint::analysis {

struct Exported {
  std::vector<WrittenFile> files = {};       // none on standard output
  std::optional<std::uint64_t> events = {};  // of a trace
  std::uint64_t left_out = 0;                // see TraceFigures
};

// `place` is empty for standard output. An Error of kind Interrupted where the run was stopped.
Result<Exported> export_to(const std::string& format, const std::string& place, ExportedRun& run,
                           const DiagnoseOptions& options, const cli::Context& context);

// What was written, in a line for people.
void tell(const cli::Context& context, const ExportedRun& run, const Exported& exported);

}  // namespace chokepoint::analysis
