// Two nodes' clocks, one against the other: what both nodes saw of each other, and the clock link
// that follows from it. fit_clocks() links every two nodes and leads each to one of them.
//
//   shared_packets.cc  the same packets and messages at both ends → one-way delays
//   corridor.cc        one-way delays → the offset over time
//   clock_link.cc      the offset, or else that by probes or wall clocks → the link
//
// Values; pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

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

// What pairs of nodes saw of each other.
struct Shared {
  std::map<NodePair, SharedPackets> marks = {};
  std::map<NodePair, SharedPackets> collectives = {};
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

// As OneWayDelays: after its begin_ns, on top of its offset_ns.
struct OffsetKnot {
  double t_ns = 0;
  double offset_ns = 0;
};

struct Corridor {
  std::vector<OffsetKnot> middle = {};  // one if packets show no drift, else two or more
  double width_ns = 0;                  // where it is widest
  double noise_ns = 0;     // how far parts of the run, each by itself, usually lie from the middle
  bool is_closed = false;  // somewhere packets contradict each other
  bool has_drift = false;  // packets show one: they were many enough, for long enough
};

// nullopt if packets went one way only, or there are none.
std::optional<Corridor> widest_corridor(const OneWayDelays& delays);

// For packets of one way: the other is taken to be as quick, by a round trip known otherwise.
std::optional<Corridor> half_corridor(const OneWayDelays& delays, double round_trip_ns);

struct ClockLink {
  ClockSource source = ClockSource::None;
  ClockMap map = {};  // from the first node's clock to the second's
  std::optional<double> error_ns = {};
  std::optional<double> noise_ns = {};
  bool is_one_way = false;             // packets went one way only
  std::optional<double> covered = {};  // share of the first node's span in which packets were seen
};

// By packets and messages of collectives together, as both bound how far clocks are apart; else by
// probes, else by the wall clocks.
ClockLink link_of(const RunData& run, NodePair pair, const Shared& shared,
                  const FitOptions& options);

// The second's clock less the first's by their wall clocks; nullopt if one has none.
std::optional<std::int64_t> wall_offset_ns(const NodeData& first, const NodeData& second);

}  // namespace chokepoint::analysis
