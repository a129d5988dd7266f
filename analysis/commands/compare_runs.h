// Reads the runs that are compared. One that cannot be read does not hide the others. The caller's
// thread.
#pragma once

#include <functional>

#include "analysis/attribution/diagnose.h"
#include "analysis/commands/compare_folders.h"
#include "analysis/compare/compared_run.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<ComparedRun> read_run(const RunFolder& folder, const std::string& samples_label,
                             const DiagnoseOptions& options);

}  // namespace chokepoint::analysis
