// A whole RDMA test from the client's end: set-up, a round for each size, and what both ends
// counted. Runs on the caller's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"
#include "rdma/fabric/counters.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/parameters.h"
#include "rdma/session/round.h"
#include "rdma/session/service.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {

struct Round {
  perf::Plan plan = {};
  SideResult client = {};
  SideResult server = {};
};

struct Trial {
  Parameters parameters = {};
  Agreement agreement = {};
  SideFacts client = {};
  SideFacts server = {};
  std::vector<Round> rounds = {};
  fabric::Changes client_counters = {};
  fabric::Changes server_counters = {};
  std::string memory = {};            // of this side, described
  bool interrupted = false;           // by the user; what was measured until then is here
  std::optional<Error> failure = {};  // of the round after those that are here
};

// What the client's end needs of its host.
struct Here {
  sys::Root root;
  const sys::Clock& clock;
  PortRequest wish = {};
  std::string host = {};  // this host's name
  int interrupt = -1;     // readable once the user wants it to end
};

struct Listener {
  control::Waiting waiting = {};                        // while other tests are ahead
  std::function<void(const Trial& trial)> agreed = {};  // both sides are known
  std::function<void(const Round& round)> round = {};   // after each round
};

Result<Trial> run(control::Client& client, const Parameters& parameters,
                  std::unique_ptr<verbs::Library> library, const Here& here,
                  const Listener& listener);

}  // namespace chokepoint::rdma::session
