// What a measured run tells a prediction: the one place that predict asks for it. Reads the run's
// records; the caller's thread.
#pragma once

#include <string>

#include "analysis/predict/job_profile.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

Result<JobProfile> profile_of_run(const std::string& folder);

}  // namespace chokepoint::analysis
