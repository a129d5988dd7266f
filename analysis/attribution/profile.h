// What a prediction needs to know of the job that was watched: how much it computes, what it
// exchanges a step, and over which path. Pure.
#pragma once

#include <optional>

#include "analysis/limits/limit_timeline.h"
#include "analysis/load/run_data.h"
#include "analysis/predict/job_profile.h"
#include "analysis/replay/replay.h"

namespace chokepoint::analysis {

// An Error if the records show no steps, or nothing of what passed between ranks.
Result<JobProfile> profile_of(const RunData& run);

// The job, and its run to be replayed where the record permits that.
struct MeasuredJob {
  JobProfile profile = {};
  std::optional<Replay> replay = {};
};

Result<MeasuredJob> measured_job_of(const RunData& run);

// Between the two ranks whose connection had most under way.
MeasuredPath path_of(const RunData& run, const LimitTimeline& limit_timeline);

}  // namespace chokepoint::analysis
