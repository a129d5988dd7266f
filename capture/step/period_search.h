// Which period a job's traffic has. Each level of bins is searched for the periods that are 24 to
// 52 of its bins long, so that all are seen equally sharp, over the newest 10 to 21 of them:
//
//   bins ─ smoothed over a tenth of a period ─▶ autocorrelation ─▶ peaks that stand out
//
// A peak stands out where nothing from half to one and a half times its lag comes near it (so it is
// no multiple and no fraction of another) and the double lag is alike, too. Of several that do,
// such as micro-batches inside a step, the longest is the step, unless it hardly shapes the
// traffic, as epochs do. One thread.
#pragma once

#include <optional>
#include <vector>

#include "capture/step/autocorrelation.h"
#include "capture/step/binned_traffic.h"

namespace chokepoint::capture::step {

struct Candidate {
  double period_ns = 0;
  double strength = 0;    // of the autocorrelation
  double modulation = 0;  // how much the traffic varies at this scale; 0 is not at all
};

class PeriodSearch {
 public:
  PeriodSearch();

  // The shortest first; none is within a tenth of another.
  std::vector<Candidate> candidates(const BinnedTraffic& traffic);
  static std::optional<Candidate> step_of(const std::vector<Candidate>& candidates);

 private:
  static bool shapes(const Candidate& candidate, const Candidate& inside);
  void search(const BinnedTraffic& traffic, std::size_t level, std::vector<Candidate>& found);

  Autocorrelation autocorrelation_;
};

}  // namespace chokepoint::capture::step
