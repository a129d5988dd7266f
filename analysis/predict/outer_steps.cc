#include "analysis/predict/outer_steps.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {

void exchange_seldom(JobProfile& job, double bytes, const OuterSteps& outer) {
  job.outer = outer;
  job.exchanges = {{.collective = Collective::AllReduce,
                    .bytes = bytes,
                    .ready_ms = job.compute_ms,
                    .times = 1 / outer.every,
                    .beside_ms = outer.beside_steps * job.compute_ms}};
  job.at_once = 1;
  job.kinds.clear();
}

OuterTimes times_of(const OuterSteps& outer, const Prediction& prediction) {
  OuterTimes times{.every = outer.every,
                   .sync_ms = prediction.communication_ms * outer.every,
                   .exposed_ms = prediction.exposed_ms * outer.every,
                   .round_ms = prediction.step_ms * outer.every};
  times.utilisation = times.round_ms > 0 ? 1 - times.exposed_ms / times.round_ms : 1;
  return times;
}

double least_every(const OuterSteps& outer, const OuterTimes& times, double utilisation) {
  const double step_ms = (times.round_ms - times.exposed_ms) / times.every;
  const double least =
      step_ms > 0 ? utilisation * times.exposed_ms / ((1 - utilisation) * step_ms) : 1;
  return std::max({std::ceil(least), outer.beside_steps, 1.0});
}

}  // namespace chokepoint::analysis
