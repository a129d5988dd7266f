// A whole RDMA test from the client's end: set-up, a round for each size, and what both ends
// counted. Everything on the caller's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"
#include "rdma/fabric/changes.h"
#include "rdma/session/half.h"
#include "rdma/session/negotiate.h"
#include "rdma/session/parameters.h"
#include "rdma/session/service.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {

struct Round {
  perf::Plan plan = {};
  Half client = {};
  Half server = {};
};

struct Trial {
  Parameters parameters = {};
  Agreement agreement = {};
  SideFacts client = {};
  SideFacts server = {};
  std::vector<Round> rounds = {};
  fabric::Changes client_counters = {};
  fabric::Changes server_counters = {};
  std::string memory = {};            // of this side, in words
  bool interrupted = false;           // ended early by the user; what was measured is here
  std::optional<Error> failure = {};  // of a round after others that are here
};

// What the client's end is given.
struct Here {
  sys::Root root;
  const sys::Clock& clock;
  PortWish wish = {};
  std::string host = {};  // this host's name
  int interrupt = -1;     // readable once the user wants it to end
};

struct Listener {
  control::Waiting waiting = {};                        // while others are ahead
  std::function<void(const Trial& trial)> agreed = {};  // both sides are known
  std::function<void(const Round& round)> round = {};   // one is over
};

Result<Trial> run(control::Client& client, const Parameters& parameters,
                  std::unique_ptr<verbs::Library> library, const Here& here,
                  const Listener& listener);

}  // namespace chokepoint::rdma::session
