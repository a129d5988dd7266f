// Searches for the highest rate of a test by short runs. One thread, the test's.
#pragma once

#include <functional>

#include "probe/udp/outcome.h"
#include "probe/udp/search.h"

namespace chokepoint::probe::udp {

struct SearchPlan {
  Direction direction = Direction::Send;
  double most_loss = 0.001;
  double most_bits_per_s = 0;  // 0: no limit
};

struct Found {
  double bits_per_s = 0;  // 0: no rate passed
  std::optional<Trial> obstacle = {};
  int trials = 0;
  bool interrupted = false;
  // The best run of the search: all there is when it was interrupted.
  std::optional<RunResult> best = {};
  RunPlan best_plan = {};
};

using TrialWatch = std::function<void(const Trial& trial, TrialEnd end)>;

// `plan` is what the runs have in common; its run number goes on from where it stands.
Result<Found> find_highest_rate(Test& test, RunPlan& plan, const SearchPlan& search,
                                const TrialWatch& watch);

// Of the direction that fared worse.
Trial trial_of(const std::vector<Outcome>& outcomes, double bits_per_s);

}  // namespace chokepoint::probe::udp
