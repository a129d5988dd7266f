// A run's folder, read and thought over: where every command begins that tells what held a run
// back. The caller's thread.
#pragma once

#include <string>
#include <vector>

#include "analysis/attribution/inquiry.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct Study {
  record::Run records = {};
  RunData run = {};
  Inquiry inquiry = {};  // borrows from `run`, whose nodes stay where they are when it is moved
  std::vector<Error> troubles = {};  // records that cannot be read, or only in part
};

// An Error where there is no record, or none that can be read.
Result<Study> study(const std::string& folder, const DiagnoseOptions& options);

}  // namespace chokepoint::analysis
