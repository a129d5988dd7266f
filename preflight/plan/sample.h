// Some rounds of a tournament, where all of them would take too long: in each nobody is met twice,
// and no pair comes twice over all rounds. Each round is a random perfect matching: rounds chosen
// at random, of a tournament between hosts in an order that is random, too. Every host is in every
// round (left out of one at most where their number is odd), so that a bad port, cable or host is
// met in each of them. The same seed makes the same plan on every machine. Values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "preflight/plan/tournament.h"

namespace chokepoint::preflight::plan {

class Sample {
 public:
  // As many rounds as the tournament has where more are asked for.
  Sample(std::size_t hosts, std::size_t rounds, std::uint64_t seed);

  std::size_t rounds() const { return chosen_.size(); }
  Round round(std::size_t number) const;

 private:
  Tournament tournament_;
  std::vector<HostIndex> order_;
  std::vector<std::size_t> chosen_;
};

}  // namespace chokepoint::preflight::plan
