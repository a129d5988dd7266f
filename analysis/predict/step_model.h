// The model beneath a prediction: one step of a job on one network, under one view of what is not
// known. Pure functions.
#pragma once

#include <vector>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {

struct Assumed {
  Outlook outlook = Outlook::Usual;
  double overlap = 0;              // as of JobProfile
  double communication_times = 1;  // what the model gives, times this
};

struct ModelledStep {
  double compute_ms = 0;
  double bubble_ms = 0;
  double communication_ms = 0;
  double exposed_ms = 0;
  Wire wire = {};

  double step_ms() const { return compute_ms + bubble_ms + exposed_ms; }
};

ModelledStep modelled(const JobProfile& profile, const Target& target, const Assumed& assumed);

// What the job exchanges; deduced from sums where a run told no more.
std::vector<PlannedExchange> exchanges_of(const JobProfile& profile, double ranks);

}  // namespace chokepoint::analysis
