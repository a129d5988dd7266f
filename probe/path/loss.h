// What a hop's missing answers mean. Routers answer expired probes on the side and ration that, so
// a hop may seem to lose what it forwards without fail: the path loses at a hop at most what the
// hops behind it lose, too. Pure functions.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/path/hop.h"

namespace chokepoint::probe::path {

enum class Silence {
  None,         // every probe was answered
  Silent,       // no answer at all, though hops behind it answer: it forwards and does not tell
  RateLimited,  // fewer answers than from a hop behind it: it rations them and loses nothing
  PathLoss,  // every hop behind it misses as many: lost here or before, or rationed by the target
  Unknown,   // no answer, and none from behind it
};

std::string_view name_of(Silence silence);   // "rate_limited"
std::string_view words_of(Silence silence);  // "rate limited, not lost"; empty for None

// One for each hop.
std::vector<Silence> judge_loss(const std::vector<Hop>& hops);

// The smallest share that the target, or the last hop that answers, lost: an upper bound of the
// path's own loss both ways. Nothing where nobody answered.
std::optional<double> path_loss_percent(const Trace& trace);

}  // namespace chokepoint::probe::path
