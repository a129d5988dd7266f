// Which of several hosts that should be alike is not: each is compared with the middle of the
// others, measured by their spread. Pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::trends {

struct PeerValue {
  double value = 0;
  double error = 0;  // standard error of the value; 0: unknown
};

struct PeerRules {
  double max_p = 1e-3;         // that any of the hosts looks so unusual where all are alike
  double min_relative = 0.03;  // of the median of the others
};

struct UnusualPeer {
  std::size_t peer = 0;
  double others = 0;            // their median
  std::optional<double> times;  // its value over that; nothing where that is 0
  double deviations = 0;        // how many of the others' it is away
  double p = 1;                 // corrected for the number of hosts
};

// The most unusual first. Empty where fewer than four have a finite value: three cannot say which
// of them is wrong. Up to a quarter of eight or more hosts may be unusual at once; of fewer, one.
std::vector<UnusualPeer> unusual_peers(std::span<const PeerValue> peers,
                                       const PeerRules& rules = {});

}  // namespace chokepoint::trends
