// How long packets took between two nodes, as far as clocks that differ can tell: the time at the
// receiver less the time at the sender, each by its own clock. By how much the clocks differ is in
// it, with one sign there and the other back. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/timeline/shared_packets.h"

namespace chokepoint::analysis {

struct OneWayDelay {
  double t_ns = 0;      // by the first node's clock, after `begin_ns`
  double delay_ns = 0;  // apart from `offset_ns`
};

struct OneWayDelays {
  std::int64_t begin_ns = 0;
  std::int64_t offset_ns = 0;  // the second clock less the first, roughly
  double length_ns = 0;        // of the span in which packets were seen
  std::vector<OneWayDelay> there = {};
  std::vector<OneWayDelay> back = {};
};

// Numbers repeat, and clocks may be hours apart: the offset at which most packets meet is taken,
// then each packet that met one other only. `expected_ns` is the offset by the wall clocks: it is
// believed where too few meet to tell. Nothing where none do. Sorts what it is given.
std::optional<OneWayDelays> one_way_delays(SharedPackets& shared,
                                           std::optional<std::int64_t> expected_ns);

}  // namespace chokepoint::analysis
