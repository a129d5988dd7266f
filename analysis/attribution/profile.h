// What a prediction needs to know of the job that was watched: how much it computes, what it
// exchanges a step, and over which path. Pure.
#pragma once

#include "analysis/load/run_data.h"
#include "analysis/predict/job_profile.h"

namespace chokepoint::analysis {

// An Error if the records show no steps, or nothing of what passed between ranks.
Result<JobProfile> profile_of(const RunData& run);

}  // namespace chokepoint::analysis
