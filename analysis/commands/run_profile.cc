#include "analysis/commands/run_profile.h"

#include "analysis/attribution/profile.h"
#include "base/record/run.h"

namespace chokepoint::analysis {

Result<JobProfile> profile_of_run(const std::string& folder) {
  Result<record::Run> run = record::open_run(folder);
  if (!run) {
    return std::unexpected(run.error());
  }
  return profile_of(load_run(*run));
}

}  // namespace chokepoint::analysis
