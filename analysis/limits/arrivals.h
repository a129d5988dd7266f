// How data arrive from one host at another, all connections between the two together. What leaves a
// link that is full does so at its rate, hundredth of a second by hundredth, however many
// connections share it; what waits for a processor or for answers comes in bursts:
//
//   a full link    ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▅      one rate
//   a busy host    █▂ ▇█▁▃ █▄ ▂▇ ▁█▃
//
// Values; any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "analysis/limits/direction.h"

namespace chokepoint::analysis {

class Arrivals {
 public:
  // The run outlives it.
  explicit Arrivals(const RunData& run);

  // Whether most data came at one rate. False where the receiver saw no packets.
  bool are_at_one_rate(const DirectionView& view) const;

 private:
  using Path = std::pair<std::size_t, std::size_t>;  // sender, receiver

  static std::optional<Path> path_of(const RunData& run, const DirectionView& view);

  const RunData& run_;
  std::set<Path> at_one_rate_;
};

}  // namespace chokepoint::analysis
