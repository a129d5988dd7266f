// One look at a run's folder: its records read, its time accounted for. The caller's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"

namespace chokepoint::analysis {

struct Look {
  Diagnosis diagnosis = {};
  std::vector<Error> troubles = {};  // records that cannot be read, or only in part
  std::int64_t newest_ns = 0;        // what has been written so far: rises while somebody writes
};

// An Error where there is no record, or none that can be read.
Result<Look> look_at(const std::string& folder, const DiagnoseOptions& options);

}  // namespace chokepoint::analysis
