#include "analysis/commands/run_profile.h"

#include "analysis/attribution/profile.h"
#include "base/record/reader.h"

namespace chokepoint::analysis {

Result<JobProfile> profile_of_run(const std::string& folder) {
  TRY(record::Run run, record::open_run(folder));
  return profile_of(load_run(run));
}

}  // namespace chokepoint::analysis
