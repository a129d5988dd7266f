// Which period a job's traffic has. Each level of bins is searched for the periods that are 24 to
// 52 of its bins long, so that all have the same resolution, over the newest 10 to 21 of them:
//
//   bins ─ smoothed over a tenth of a period ─▶ autocorrelation ─▶ peaks that stand out
//
// A peak stands out if no lag from half to one and a half times its own comes near its height (so
// it is no multiple and no fraction of another) and the double lag is high, too. Of several, such
// as micro-batches inside a step, the longest is the step, unless it hardly modulates the traffic,
// as epochs do.
//
// One thread. docs/internals/run-steps.md has what was measured.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "capture/step/binned_traffic.h"

namespace chokepoint::capture::step {

struct Candidate {
  double period_ns = 0;
  double strength = 0;    // of the autocorrelation
  double modulation = 0;  // how much the traffic varies at this scale; 0 is not at all
};

class Autocorrelation;

class PeriodSearch {
 public:
  PeriodSearch();
  ~PeriodSearch();

  // The shortest first; no two are within a tenth of each other.
  std::vector<Candidate> candidates(const BinnedTraffic& traffic);
  static std::optional<Candidate> step_of(const std::vector<Candidate>& candidates);

 private:
  void search(const BinnedTraffic& traffic, std::size_t level, std::vector<Candidate>& found);

  std::unique_ptr<Autocorrelation> autocorrelation_;
};

}  // namespace chokepoint::capture::step
