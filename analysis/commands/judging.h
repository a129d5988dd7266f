// The flags by which a user says how a run is to be judged: the same for every command that says a
// verdict, so that none contradicts another. The caller's thread.
#pragma once

#include "analysis/attribution/diagnose.h"
#include "base/cli/flags.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

void define_judging(cli::Flags& flags, DiagnoseOptions& options);

// An Error of kind Usage where a value cannot be meant.
Result<> check_judging(const DiagnoseOptions& options);

}  // namespace chokepoint::analysis
