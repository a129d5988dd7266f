// How long exchanges take on another path: similar ones share one model, whose rate is
// fitted to the time that the usual one took. Values; any thread.
#pragma once

#include <vector>

#include "analysis/replay/replay.h"

namespace chokepoint::analysis {

// The path as it was, and as it is to be.
struct PathChange {
  MeasuredPath before = {};
  PathProfile after = {};
  Congestion congestion = Congestion::Cubic;
  std::vector<double> loads = {};  // by ring, how many times as many share a link; empty: as many
  double work_ms = 0;  // of the processors for exchanges, a step: no link makes them faster
  double steps = 1;
};

class TransferTimes {
 public:
  TransferTimes(const std::vector<Transfer>& transfers, const PathChange& change);

  // A part of the transfer that took this long would take then.
  double ns(std::size_t transfer, double took_ns) const;

 private:
  struct SimilarTransfers {
    double before_ms = 0;
    double after_ms = 0;
    double free_ms = 0;     // without loss
    double loss_times = 1;  // what loss adds, times this
    bool is_held = false;   // by the link, which was full
  };

  std::vector<Transfer> transfers_;
  std::vector<std::size_t> similar_of_;  // of each transfer
  std::vector<SimilarTransfers> similar_;
};

// False where most bytes are in exchanges of which even the quickest lost packets.
bool shows_times_without_loss(const std::vector<Transfer>& transfers, double loss);

// Of one exchange without loss: a ring, or round trips and data one after the other. The rate is of
// payload.
double transfer_ms(const Transfer& transfer, double rtt_ms, double rate_mbps);

// At which the fastest of them passed: a full link has at least this rate. 0: it cannot be told.
double fastest_mbps(const std::vector<Transfer>& transfers, double rtt_ms);

// The rate at which it takes this long; the fastest one where it takes longer at any.
double fitted_mbps(const Transfer& transfer, double rtt_ms, double took_ms);

}  // namespace chokepoint::analysis
