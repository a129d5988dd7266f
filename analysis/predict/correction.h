// How a measured step differs from the modelled one: what to carry over to a prediction elsewhere.
// A pure function.
#pragma once

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {

struct Correction {
  double times = 1;       // communication takes this many times what the model says
  double exposed_ms = 0;  // and this much more, whatever the target
  double bubble_ms = 0;   // of a pipeline, as measured
};

Correction correction_of(const JobProfile& profile, const Target& target);

}  // namespace chokepoint::analysis
