// What two nodes both saw: the same packets, or the same messages of collectives, when they left
// the one and when they came to the other, each by its own clock. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// The same key at both ends is the same packet, or one that took its number later.
struct Sighting {
  std::uint64_t key = 0;
  std::int64_t t_ns = 0;
  friend auto operator<=>(const Sighting&, const Sighting&) = default;
};

struct Passage {
  std::vector<Sighting> sent = {};
  std::vector<Sighting> received = {};
};

struct SharedPackets {
  Passage there = {};  // from the first node to the second
  Passage back = {};
};

// Two nodes of a run, the smaller number first.
using NodePair = std::pair<std::size_t, std::size_t>;

// Of the marks of all connections between two nodes. Where there are very many, some are left out,
// the same at both ends.
std::map<NodePair, SharedPackets> shared_marks(const RunData& run);
// Of the moments when ranks came to collectives, as they told each other.
std::map<NodePair, SharedPackets> shared_collectives(const RunData& run);

// Marks and messages have no keys in common.
SharedPackets joined(SharedPackets one, const SharedPackets& other);

}  // namespace chokepoint::analysis
