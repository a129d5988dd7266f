// Answers stock nuttcp clients, one after the other; a client that comes while another test fills
// the path, of nuttcp's or of another kind, waits for its turn. Connections that send nothing, or
// what is no nuttcp greeting, stay with the acceptor and delay no test.
//
//   serve() ── acceptor's thread ──► ConnectionQueue ──► test's thread ── ServerSession
//
// Data connections and UDP come from and go to the address of the client's control connection
// alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::nuttcp {

struct ServerOptions {
  // Shared with every other kind of test on this host, so that none runs into another. Outlives
  // serve().
  control::TestQueue& test_queue;
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from the test's thread.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// Until `stop` is readable. Every thread has ended and every socket is closed on return.
Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop);

}  // namespace chokepoint::probe::nuttcp
