// Local SGD and DiLoCo: each rank trains alone for several steps, then all exchange their
// parameters once.
//
//   round = every · step without exchange + what of the exchange no step goes on beside
//
// Pure; any thread.
#pragma once

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {

// Puts one all-reduce of so many bytes in every so many steps in place of what the job exchanges.
void exchange_seldom(JobProfile& job, double bytes, const OuterSteps& outer);

struct OuterTimes {
  double every = 0;       // steps
  double sync_ms = 0;     // an exchange
  double exposed_ms = 0;  // what of it no step goes on beside
  double round_ms = 0;
  double utilisation = 0;  // share of a round that its steps take without the exchange
};

// Of a job that exchanges seldom.
OuterTimes times_of(const OuterSteps& outer, const Prediction& prediction);

// The least number of steps from one exchange to the next with which the steps take that share of
// the time.
double least_every(const OuterSteps& outer, const OuterTimes& times, double utilisation);

}  // namespace chokepoint::analysis
