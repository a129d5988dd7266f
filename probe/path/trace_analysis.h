// What traces mean: where packets are lost, where large packets vanish, and whether the reverse
// path leads over the same routers. Pure functions.
//
// Loss. Routers answer expired probes with low priority and limit the rate, so a hop that forwards
// everything may seem to lose packets: the path loses at a hop at most what all hops behind it lose
// as well.
//
// Symmetry. The two traces never show the same addresses: a router answers from the interface at
// which the probe arrived.
//
//        .1  link 0  .2      .1  link 1  .2      .1  link 2  .2
//   A ─────────────────── r1 ─────────────────── r2 ─────────────────── B
//   forward:            r1's .2                r2's .2                B's .2
//   reverse: A's .1       r1's .1                r2's .1
//
// So the reverse list is turned round and compared with the forward one, link by link: a link's far
// end comes from the forward trace, its near end from the reverse trace. Two addresses that fit a
// point-to-point network (/30, /31, /126, /127) leave room for one router at each end. A larger
// network may hold several, so addresses that fit it prove nothing. A better proof is whether the
// router's reverse address answers at exactly the same distance as its forward one (the placements,
// which outcome.cc measures); where that contradicts the addresses, the match is unknown.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/probe_path.h"
#include "probe/path/trace.h"

namespace chokepoint::probe::path {

using Silence = documents::HopSilence;

std::string_view words_of(Silence silence);  // "rate limited, not lost"; empty for None

// One for each hop.
std::vector<Silence> judge_loss(const std::vector<Hop>& hops);

// The loss of the target, or of the last hop: an upper bound of the path's own loss, both
// directions together. nullopt where that hop did not answer.
std::optional<double> path_loss_percent(const Trace& trace);

// Where large packets vanish: the link between the last hop that still answers a large probe and
// the next one, which answers only small ones, drops them without an ICMP message.
struct BlackHole {
  int packet_bytes = 0;
  std::optional<Hop> last_before = {};  // nullopt: right behind this host
  Hop first_behind = {};
};

// From two traces of one path, by small packets and by those that vanish. nullopt where the large
// ones get as far as the small ones.
std::optional<BlackHole> locate(const std::vector<Hop>& small, const std::vector<Hop>& large,
                                int packet_bytes);

using Match = documents::SameRouter;
using documents::RouterMatch;
using Symmetry = documents::PathSymmetry;

// By a router's reverse address: whether it is on the forward path, at the same distance.
using Placements = std::map<net::Address, bool>;

Symmetry compare(const Trace& forward, const Trace& reverse, const Placements& placements);

}  // namespace chokepoint::probe::path
