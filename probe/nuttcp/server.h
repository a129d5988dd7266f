// Answers stock nuttcp clients, one after the other; who comes meanwhile waits for its turn.
// Connections that say nothing, or nothing that nuttcp would say, wait at the door and keep nobody
// from a test.
//
//   run() ── door's thread ──► waiting room ──► test's thread ── ServerTalk
//
// Data connections are taken from, and made to, the address of the client's control connection
// alone, and UDP goes nowhere else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::nuttcp {

struct ServerOptions {
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from the test's thread.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// Until `stop` is readable; every thread and socket is gone by then.
Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop);

}  // namespace chokepoint::probe::nuttcp
