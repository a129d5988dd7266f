// Does the way back lead over the routers of the way there? The two traces never show the same
// addresses: a router answers from the interface at which the probe came in.
//
//        .1  link 0  .2      .1  link 1  .2      .1  link 2  .2
//   A ─────────────────── r1 ─────────────────── r2 ─────────────────── B
//   there:              r1's .2                r2's .2                B's .2
//   back:   A's .1        r1's .1                r2's .1
//
// So the reverse list is turned round and laid beside the forward one, and each link is looked at:
// its far end comes from the trace there, its near end from the trace back. Two addresses that fit
// a point-to-point network (/30, /31, /126, /127) leave room for one router at each end. A larger
// network may hold several, so addresses that fit it prove nothing. What proves more is whether the
// router's reverse address answers exactly as many hops away as the forward one did
// (router_check.h); where it contradicts the addresses, nothing is claimed. What cannot be seen
// stays unknown. Pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "probe/path/hop.h"

namespace chokepoint::probe::path {

enum class Match {
  Same,     // proven to be one router
  Likely,   // the addresses fit, two routers in one network would, too
  Differs,  // two routers
  Unknown,  // one of them does not answer
};

std::string_view name_of(Match match);  // "same"

struct RouterMatch {
  int ttl = 0;  // on the way there
  std::optional<net::Address> forward = {};
  std::optional<net::Address> reverse = {};
  Match match = Match::Unknown;
  std::string why = {};
};

struct Symmetry {
  std::optional<bool> symmetric = {};
  std::string why = {};
  std::vector<RouterMatch> routers = {};
};

// Whether the router's reverse address sits on the way there, at the same distance.
using Placements = std::map<net::Address, bool>;

Symmetry compare(const Trace& forward, const Trace& reverse, const Placements& placements);

}  // namespace chokepoint::probe::path
