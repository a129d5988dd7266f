// What each limit of each direction of a connection comes to, a step, and whose it is: the link's,
// the slot's, the host's, the path's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/route.h"
#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

// Before both ways are joined.
struct Charge {
  const DirectionBlame* direction = nullptr;
  Route route = {};
  std::optional<Limit> limit = {};  // empty: of time in which nothing was under way
  Account account = Account::Other;
  VerdictClass verdict = VerdictClass::Unknown;
  std::string cause = {};
  double ms = 0;         // of the communication that computing did not hide, a step
  double removable = 1;  // of it, what a change could give back
};

std::vector<Charge> charges_of(const DiagnosisInput& input);

}  // namespace chokepoint::analysis
