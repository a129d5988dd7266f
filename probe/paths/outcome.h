// What a sweep says of the members of a bundle: groups of flows that lose more or take longer than
// the others, or that all are alike, or that too little was sent to tell. Values and pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/control/limits.h"
#include "base/json/fields.h"
#include "base/math/groups.h"
#include "base/math/statistics.h"
#include "probe/paths/hops.h"
#include "probe/paths/rates.h"
#include "probe/paths/sweep.h"

namespace chokepoint::probe::paths {

using control::Direction;

enum class Verdict { Found, Alike, Unknown };
enum class FindingKind { Loss, Delay, Rate };

// The bad member that a sweep has to find before it calls all flows alike.
struct Expectation {
  int members = 8;     // of the bundle, at most: the bad one takes one in so many flows
  double loss = 0.01;  // more than the others lose, 0..1
};

struct Finding {
  FindingKind kind = FindingKind::Loss;
  Direction direction = Direction::Send;  // from this host to the peer, or back
  double p = 1;                           // how often flows that are alike look so, at most
  math::Share share = {};                 // of the flows
  std::optional<double> loss = {};        // 0..1
  std::optional<double> others_loss = {};
  std::optional<double> later_ns = {};  // than the fastest flows
  std::optional<double> bits_per_s = {};
  std::optional<double> others_bits_per_s = {};  // of the fastest flows
  std::vector<std::size_t> flows = {};           // indices
  std::vector<std::size_t> unclear = {};
  std::optional<Place> place = {};  // a router that only these flows pass
};

// One way of the sweep.
struct DirectionSweep {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t dropped = 0;  // of them by the receiving host's sockets
  // The smallest loss of one of Expectation's members that would have been found, 0..1; nothing
  // where none would.
  std::optional<double> detectable_loss = {};
  std::size_t delay_groups = 0;  // of flows; more than one: so many paths at least
};

struct Flow {
  std::uint16_t source_port = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost_there = 0;
  std::uint64_t answered = 0;
  std::uint64_t lost_back = 0;
  math::Distribution rtt_ms = {};
  // More than the fastest flows take; nothing where too few answers came.
  std::optional<double> later_there_ms = {};
  std::optional<double> later_back_ms = {};
  std::optional<Hops> hops = {};
  // By TCP.
  std::optional<double> bits_per_s = {};
  std::uint64_t retransmits = 0;
  std::optional<double> min_rtt_ms = {};
};

struct Paths {
  std::size_t at_least = 1;  // that the flows were seen to take
  std::optional<std::size_t> by_hops = {};
  std::size_t traced = 0;  // flows
};

struct Outcome {
  Verdict verdict = Verdict::Unknown;
  std::string why = {};  // of Unknown
  DirectionSweep there = {};
  DirectionSweep back = {};
  std::vector<Finding> findings = {};  // the clearest first
  Paths paths = {};
  std::vector<Flow> flows = {};

  const DirectionSweep& of(Direction direction) const {
    return direction == Direction::Send ? there : back;
  }
};

// Differences in delay below this may be the hosts' own: each flow has a receive queue, and that a
// processor.
inline constexpr double kMinDelayNs = 50e3;

// Of connections: slower ones are found, losses are not judged, because a connection that fills
// its path makes its own. Alike where all rates lie within math::kMinSlower.
Outcome judged(const std::vector<RateRecord>& flows);

// `hops`: of each flow, or empty where none was traced.
Outcome judged(const SweepRecord& record, const std::vector<std::optional<Hops>>& hops,
               const Expectation& expectation);

}  // namespace chokepoint::probe::paths

template <>
struct chokepoint::EnumNames<chokepoint::probe::paths::Verdict> {
  using enum probe::paths::Verdict;
  static constexpr std::string_view kWhat = "found, alike or unknown";
  static constexpr auto kNames = std::to_array<EnumName<probe::paths::Verdict>>(
      {{Found, "found"}, {Alike, "alike"}, {Unknown, "unknown"}});
};

template <>
struct chokepoint::EnumNames<chokepoint::probe::paths::FindingKind> {
  using enum probe::paths::FindingKind;
  static constexpr std::string_view kWhat = "loss, delay or rate";
  static constexpr auto kNames = std::to_array<EnumName<probe::paths::FindingKind>>(
      {{Loss, "loss"}, {Delay, "delay"}, {Rate, "rate"}});
};
