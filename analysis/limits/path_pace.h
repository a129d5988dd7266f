// How fast the job's data arrived on a path, all connections together: by packets of the receiver,
// else of the sender, else by the acknowledged bytes of the sender's kernel.
//
// Only time in which data arrived is counted, in cells of 10 ms like the samples of packets: a job
// that exchanges for half of each step is not half as fast. Pauses up to a round trip are counted,
// too, since a sender with a full window waits for that long. One thread; add() all directions of a
// path, then call pace().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/limits/direction.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

struct Pace {
  std::optional<double> peak_mbps = {};  // over 100 ms, or as long as most exchanges take
  std::optional<double> mean_mbps = {};
};

class PathPace {
 public:
  void add(const DirectionView& view, const Clocks& clocks);

  Pace pace(std::optional<double> rtt_ms) const;

 private:
  struct Cell {
    std::int64_t number = 0;  // of the common clock's hundredths of a second
    double bytes = 0;
  };
  using Cells = std::vector<Cell>;
  struct Run {
    std::int64_t cells = 0;
    double bytes = 0;
  };

  void spread(Span span, double bytes, Cells& cells);
  void add_packets(const FlowData& flow, std::size_t node, const DirectionView& view,
                   const Clocks& clocks, Cells& cells);
  void add_sockets(const DirectionView& view, const Clocks& clocks, Cells& cells);
  void take(const Cells& cells);
  std::vector<Run> runs(std::int64_t longest_pause) const;
  double most_in(std::int64_t window) const;

  Cells cells_ = {};                             // in order
  std::optional<double> coarse_peak_mbps_ = {};  // of samples too long for cells
};

}  // namespace chokepoint::analysis
