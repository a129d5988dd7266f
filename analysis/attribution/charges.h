// The cost per step of each limit of each direction of a connection, and the part that causes it:
// link, slot, host or path. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/route.h"

namespace chokepoint::analysis {

// Of one direction: verdicts join both.
struct Charge {
  const DirectionLimits* direction = nullptr;
  Route route = {};
  std::optional<Limit> limit = {};  // empty: of time in which nothing was under way
  Account account = Account::Other;
  VerdictClass verdict = VerdictClass::Unknown;
  Cause cause = Cause::None;
  double ms = 0;         // of the communication that computing did not hide, a step
  double removable = 1;  // of it, the share that a change could give back
};

std::vector<Charge> charges_of(const DiagnosisInput& input);

}  // namespace chokepoint::analysis
