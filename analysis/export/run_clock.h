// The one clock on which a run is exported: nanoseconds since the job began on the first of its
// nodes, by the common clock of timeline/clocks.h; and since 1970, where a tool wants that. Any
// time that a record holds may be asked for, a damaged one's too. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

class RunClock {
 public:
  RunClock(const RunData& run, Clocks clocks);

  // Below 0 for what was before the job.
  std::int64_t since_start_ns(std::size_t node, std::int64_t t_ns) const;
  std::int64_t wall_ns(std::size_t node, std::int64_t t_ns) const {
    return start_wall_ns_ + since_start_ns(node, t_ns);
  }
  std::int64_t start_wall_ns() const { return start_wall_ns_; }
  // A span of the run by a node's own clock.
  Span local(std::size_t node, Span since_start) const;

  const NodeClock& node(std::size_t node) const { return clocks_.nodes[node]; }
  const Clocks& clocks() const { return clocks_; }

 private:
  Clocks clocks_;
  std::int64_t start_ns_ = 0;       // of the common clock
  std::int64_t start_wall_ns_ = 0;  // the same moment since 1970
};

// "-12.345000000": exact, which a double is not.
void append_seconds(std::string& out, std::int64_t ns);

// Farther off than any run, and near enough to be added to.
constexpr std::int64_t kFarNs = std::int64_t{1} << 61;

}  // namespace chokepoint::analysis
