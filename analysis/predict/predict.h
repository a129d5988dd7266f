// From a job to what its step would take elsewhere: over another link, round trip, loss, window, or
// with another number of ranks.
//
//   exchanges of a step ── each one's time on the target ── schedule beside computing ── step
//
// A job that was measured is predicted as its measured step plus what the model says the target
// changes, so that what the model does not know of the job stays in. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/predict/exchange_time.h"
#include "analysis/predict/job_profile.h"
#include "analysis/predict/wire.h"

namespace chokepoint::analysis {

// What is empty is as in the profile.
struct Target {
  PathProfile path = {};
  std::optional<std::int64_t> ranks = {};
  std::optional<std::int64_t> nodes = {};
  std::optional<Curve> curve = {};
  Congestion congestion = Congestion::Cubic;
  Transport transport = Transport::Unknown;
  Algorithm algorithm = Algorithm::Ring;
};

struct Prediction {
  double step_ms = 0;
  double low_ms = 0;  // the step lies between these, if the inputs are right
  double high_ms = 0;
  double compute_ms = 0;
  double bubble_ms = 0;         // of a pipeline
  double communication_ms = 0;  // hidden by computing or not
  double exposed_ms = 0;
  double other_ms = 0;  // of a measured step: neither of these
  std::optional<double> total_s = {};
  std::optional<double> speedup = {};  // over one processor alone; of a run over the run
  double rate_mbps = 0;                // of payload, that the ranks get from the network
  std::string limited_by = {};         // "link", "window", "loss", "library", "credit"
  Transport transport = Transport::Unknown;
};

Prediction predict(const JobProfile& profile, const Target& target);

// The rate of a link that makes the step as long as this, all else as in the target. Nothing where
// no rate does.
std::optional<double> rate_that_explains(const JobProfile& profile, const Target& target,
                                         double step_ms);

// What a rank sends in a step, of payload.
double sent_bytes(const JobProfile& profile, std::int64_t ranks);

}  // namespace chokepoint::analysis
