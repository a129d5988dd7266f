// A run that is still going on, looked at again and again: redrawn in place on a terminal, a line a
// look elsewhere, a document a line with --json. One thread, which sleeps in between.
#pragma once

#include <chrono>
#include <optional>

#include "analysis/commands/diagnose_look.h"
#include "base/cli/command.h"

namespace chokepoint::analysis {

struct Following {
  std::chrono::nanoseconds every = std::chrono::seconds(2);
  // A run to which nothing is added for so long has ended, whatever its records say.
  std::chrono::nanoseconds patience = std::chrono::minutes(1);
  bool all = false;
};

struct Followed {
  Diagnosis last = {};
  bool is_interrupted = false;
};

// Until every record is complete, or SIGINT or SIGTERM comes. An Error where the first look fails;
// where a later one does, the one before stays.
Result<Followed> follow(const std::string& folder, const DiagnoseOptions& options,
                        const Following& how, cli::Context& context);

}  // namespace chokepoint::analysis
