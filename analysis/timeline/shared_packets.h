// What two nodes both saw, and how long it took: marked packets and messages of collectives, when
// they left the one and when they came to the other, each by its own clock. Values; pure functions;
// any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// Two nodes of a run, the smaller number first.
using NodePair = std::pair<std::size_t, std::size_t>;

// The same key at both ends is the same packet, or one that took its number later.
struct Sighting {
  std::uint64_t key = 0;
  std::int64_t t_ns = 0;  // by the node's own clock
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

struct Passage {
  std::vector<Sighting> sent = {};
  std::vector<Sighting> received = {};
};

// The packets, or the messages of collectives, that two nodes both saw.
struct SharedPackets {
  Passage there = {};  // from the first node to the second
  Passage back = {};
};

// Of the marks of all connections between two nodes. If there are very many, some are left out, the
// same at both ends.
std::map<NodePair, SharedPackets> shared_marks(const RunData& run);
// Of the moments when ranks came to collectives, as they reported to each other.
std::map<NodePair, SharedPackets> shared_collectives(const RunData& run);

// Marks and messages have no keys in common.
SharedPackets joined(SharedPackets one, const SharedPackets& other);

// The time at the receiver less the time at the sender, each by its own clock: how long the packet
// took, plus or minus the difference of the clocks (plus there, minus back).
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
// then each packet that met one other only. `expected_ns` is the offset by the wall clocks, taken
// if too few packets meet. nullopt if none do. Sorts what it is given.
std::optional<OneWayDelays> one_way_delays(SharedPackets& shared,
                                           std::optional<std::int64_t> expected_ns);

}  // namespace chokepoint::analysis
