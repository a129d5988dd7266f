// Who meets whom, round by round: the round-robin tournament by the circle method. All but one
// stand on a circle that turns by one place a round, and who stand opposite to each other meet; so
// in a round nobody is met twice, and after all rounds everybody has met everybody once. With an
// odd number one is left out in each round, another one each time.
//
//   round 0:  0 1 2        round 1:  0 5 1       the last one (5 of 0…5) stands still,
//             5 4 3                  4 3 2       the others walk round it
//
// A round is made when it is asked for: between 4,096 hosts there are 8 million pairs. Values.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "preflight/result/figures.h"

namespace chokepoint::preflight::plan {

using Pair = std::pair<HostIndex, HostIndex>;  // the lesser one first
using Round = std::vector<Pair>;

class Tournament {
 public:
  explicit Tournament(std::size_t hosts) : hosts_(hosts) {}

  // One less than there are hosts, or as many where their number is odd; none below two.
  std::size_t rounds() const;
  std::size_t pairs() const { return hosts_ < 2 ? 0 : hosts_ * (hosts_ - 1) / 2; }
  Round round(std::size_t number) const;

 private:
  std::size_t hosts_;
};

}  // namespace chokepoint::preflight::plan
