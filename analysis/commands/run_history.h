// A run's rows of a history, and how it stands against earlier runs of the same job. The caller's
// thread; blocks on the history.
#pragma once

#include <string>

#include "analysis/commands/run_files.h"
#include "base/cli/context.h"
#include "base/history/place.h"
#include "base/history/row.h"

namespace chokepoint::analysis {

history::Batch rows_of_run(const DiagnosedRun& run, const std::string& folder);

// Adds to the diagnosis how its steps stand against those of earlier runs, if the history has any.
void compare_with_earlier(const history::Flags& flags, const cli::Context& context,
                          DiagnosedRun& run, const std::string& folder);

}  // namespace chokepoint::analysis
