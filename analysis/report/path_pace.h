// How fast the job's data went from one node to another, all connections together. By what the
// kernel of the sender was told had arrived, else by packets, at the receiver where it was watched.
// Time counts while something was under way: a job that exchanges for half of each step is not half
// as fast. One thread; add() all of a path, then ask.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

class PathPace {
 public:
  void add(const DirectionView& view, const Clocks& clocks);

  // In the best tenth of a second; half of that is the least time it is measured over.
  std::optional<double> peak_mbps() const;
  std::optional<double> mean_busy_mbps() const;

 private:
  // What passed in a fiftieth of a second of the common clock.
  struct Cell {
    std::int64_t number = 0;
    double bytes = 0;
    double busy_ns = 0;
  };
  using Cells = std::vector<Cell>;
  // What one connection's samples tell of it.
  struct Part {
    Cells cells = {};
    Cell coarse = {};  // what is known of longer times alone
  };

  void spread(Span span, const Cell& passed, Part& part);
  void add_sockets(const DirectionView& view, const Clocks& clocks, Part& part);
  void add_packets(const DirectionView& view, const Clocks& clocks, Part& part);
  void take(const Part& part);

  Cells cells_ = {};  // by number
  Cell coarse_ = {};
  std::optional<double> coarse_peak_mbps_ = {};
};

}  // namespace chokepoint::analysis
