// How fast the job's data went from one node to another, all connections together, moment by
// moment. By what the kernel of the sender was told had arrived, else by packets, at the receiver
// where it was watched. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analysis/limits/direction.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

class PathPace {
 public:
  void add(const DirectionView& view, const Clocks& clocks);

  std::optional<double> peak_mbps() const;       // over 100 ms
  std::optional<double> mean_busy_mbps() const;  // while some connection had something under way

 private:
  struct Cell {
    double bytes = 0;
    double busy_ns = 0;
  };
  using Cells = std::map<std::int64_t, Cell>;

  void spread(Span span, double bytes, double busy_ns, Cells& cells) const;
  void add_sockets(const DirectionView& view, const Clocks& clocks, Cells& cells) const;
  void add_packets(const DirectionView& view, const Clocks& clocks, Cells& cells) const;

  Cells cells_;  // by tenths of a second of the common clock
};

}  // namespace chokepoint::analysis
