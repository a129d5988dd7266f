// The search for the highest rate that arrives without loss, by short runs. RateSearch decides,
// from the trials so far and without any network, which rate to try next: it multiplies the rate by
// four while trials pass, then closes in between the highest rate that passed and the lowest that
// failed, guided by what a failed trial delivered, since that is what the path carries.
// find_highest_rate() runs the trials on the test's thread.
//
// A trial fails on too much loss, when less arrives than was offered (a queue is filling up and
// will overflow), or when the sender cannot send the rate. Trials also fail by chance: a rate has
// failed when two trials of it failed (four, where the sender failed), and passed when one passed.
// A trial that failed after the sender stalled and caught up shows nothing of the path: it is
// repeated, up to a limit.
#pragma once

#include <functional>
#include <optional>

#include "probe/udp/outcome.h"

namespace chokepoint::probe::udp {

class RateSearch {
 public:
  // `max_loss`: the maximum acceptable loss. `max_bits_per_s`: the server's limit; 0: none.
  RateSearch(double max_loss, double max_bits_per_s);

  // nullopt once the search is over.
  std::optional<double> next() const;
  void add(const Trial& trial);

  double best_bits_per_s() const { return passed_; }  // 0: none passed
  // The trial by which the lowest rate failed; nullopt where none failed.
  const std::optional<Trial>& obstacle() const { return obstacle_; }

 private:
  double propose() const;
  // Whether the rate has failed, by this trial and those before it.
  bool has_failed(TrialEnd end);
  bool close_enough() const;

  double max_loss_;
  double most_;
  double passed_ = 0;
  double failed_ = 0;  // 0: none yet
  double trying_ = 0;
  int failures_ = 0;
  int stalls_ = 0;
  int trials_ = 0;
  std::optional<Trial> obstacle_ = {};
};

struct SearchPlan {
  Direction direction = Direction::Send;
  double max_loss = 0.001;
  double max_bits_per_s = 0;  // 0: no limit
};

struct Found {
  double bits_per_s = 0;  // 0: no rate passed
  std::optional<Trial> obstacle = {};
  int trials = 0;
  bool interrupted = false;
  // The best run so far, which is the result if the user interrupts the search.
  std::optional<RunResult> best = {};
  RunPlan best_plan = {};
};

using TrialWatch = std::function<void(const Trial& trial, TrialEnd end)>;

// `plan` is what the runs have in common; its run number is increased by each run.
Result<Found> find_highest_rate(Test& test, RunPlan& plan, const SearchPlan& search,
                                const TrialWatch& watch);

}  // namespace chokepoint::probe::udp
