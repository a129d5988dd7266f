// The search for the highest rate that arrives whole, as a function of trials: which rate to try
// next, and what is known by now. Rises fourfold while all goes well, then closes in between the
// highest rate that passed and the lowest that failed, led by what a failed trial delivered: that
// is what the path carries. Knows no network.
//
// A trial fails on too much loss, when less arrives than was offered (a queue is filling up and
// will overflow), or when the sender does not get rid of it. Chance fails trials, too: a rate has
// failed when two trials of it did (four, where it was the sender that failed), and passed when one
// did. A trial that failed after the sender had been kept from its core and made up for it says
// nothing of the path: it is repeated, but not forever.
#pragma once

#include <optional>

namespace chokepoint::probe::udp {

enum class TrialEnd { Passed, Loss, ReceiverQueue, FillsQueue, Sender, Stalled };

// Of the worse direction, where both were tried.
struct Trial {
  double bits_per_s = 0;  // asked for
  double offered_bits_per_s = 0;
  double delivered_bits_per_s = 0;
  double loss = 0;              // a share of what was sent
  double loss_in_queue = 0;     // the part of it that the receiving socket dropped
  bool interface_full = false;  // the sender's own
  bool stalled = false;         // the sender was late, and hurried to make up for it
};

TrialEnd judge(const Trial& trial, double most_loss);

class RateSearch {
 public:
  // `most_bits_per_s`: the server grants no more; 0 for no limit.
  RateSearch(double most_loss, double most_bits_per_s);

  // Nothing once the search is over.
  std::optional<double> next() const;
  void add(const Trial& trial);

  double best_bits_per_s() const { return passed_; }  // 0: none passed
  // Why the lowest rate that failed did; nothing where none failed.
  const std::optional<Trial>& obstacle() const { return obstacle_; }

 private:
  double propose() const;
  // The rate at hand, by this trial and those before it.
  bool has_failed(TrialEnd end);
  bool close_enough() const;

  double most_loss_;
  double most_;
  double passed_ = 0;
  double failed_ = 0;  // 0: none yet
  double trying_ = 0;
  int failures_ = 0;
  int stalls_ = 0;
  int trials_ = 0;
  std::optional<Trial> obstacle_ = {};
};

}  // namespace chokepoint::probe::udp
