// One clock for all nodes of a run. Every pair of nodes is compared by the best that both know:
// packets that both saw and when ranks came to collectives, else what probes measured, else the
// wall clocks; then each node is led to one of them, the one with most connections, over the pairs
// that are surest. docs/clocks.md tells how, and how well. Values; fit_clocks() is pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clock_map.h"

namespace chokepoint::analysis {

// How a node's clock is known, the surest first. Marks: by packets, and collectives where there
// are.
enum class ClockSource { SameHost, Marks, Collectives, Offsets, WallClock, None };

const char* name_of(ClockSource source);  // "packets"

struct NodeClock {
  ClockSource source = ClockSource::SameHost;  // the worst between it and the common clock
  std::int64_t offset_ns = 0;  // its time less the common time, where its span begins
  double drift_ppm = 0;        // how much faster it runs
  // At most so far off, whatever the way there and the way back have in common: half of the round
  // trips between it and the common clock. Empty: nothing tells.
  std::optional<double> error_ns = 0;
  // As far as measured: how far parts of the run by themselves lie off the whole, where the way
  // there takes as long as the way back. Empty where packets do not tell.
  std::optional<double> noise_ns = 0;
  ClockMap to_common = {};
  ClockMap from_common = {};
};

struct Clocks {
  std::vector<NodeClock> nodes = {};      // as RunData::nodes
  std::size_t reference = 0;              // the node whose clock is the common one
  std::vector<std::string> missing = {};  // for people: which clocks are known badly, and why

  std::int64_t common_ns(std::size_t node, std::int64_t t_ns) const {
    return nodes[node].to_common(t_ns);
  }
  std::int64_t local_ns(std::size_t node, std::int64_t common_ns) const {
    return nodes[node].from_common(common_ns);
  }
};

struct FitOptions {
  bool use_boot_ids = true;  // nodes of one host have one clock; false: find it out
};

Clocks fit_clocks(const RunData& run, const FitOptions& options = {});

}  // namespace chokepoint::analysis
