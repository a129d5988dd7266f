// The parameters of a test, once both sides are known: parameters that the user left open are
// chosen so that both devices support them; requested ones are kept, or refused with both sides'
// figures, and never reduced silently. Both ends come to the same agreement from the same facts.
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/sys/error.h"
#include "rdma/perf/plan.h"
#include "rdma/session/parameters.h"
#include "rdma/session/side.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::session {

struct Agreement {
  int mtu_bytes = 0;
  std::vector<perf::Plan> rounds = {};    // one for each size
  std::vector<std::string> lowered = {};  // what is less than the default, and why
};

// The two hosts' names in errors.
struct HostNames {
  std::string client = {};
  std::string server = {};
};

Result<Agreement> negotiate(const Parameters& parameters, const SideFacts& client,
                            const SideFacts& server, const HostNames& names);

// How `own` connects to `peer`.
verbs::PathOptions path_of(const Parameters& parameters, const Agreement& agreement,
                           const SideFacts& own, const SideFacts& peer);

// Of a round; both sides compare it, since they must have the same plan.
control::Json body_of(const perf::Plan& plan);

}  // namespace chokepoint::rdma::session
