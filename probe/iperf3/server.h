// Answers stock iperf3 clients, one test at a time as 'iperf3 -s' does; who comes meanwhile is told
// that the server is busy. Connections that say nothing, or nothing that iperf3 would say, wait at
// the door and keep nobody from a test.
//
//   run() ── door's thread ── Lobby::arrive ──► a client, or a stream of the client that is served
//        └── test's thread ── Lobby::next_client ── ServerTalk
//
// UDP goes to the address of the client's control connection alone, and there only to the port that
// has greeted this server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::iperf3 {

struct ServerOptions {
  control::Limits limits = {};
  sys::Root root = sys::Root("/");
  // A line for the operator's log. Called from the test's thread.
  std::function<void(const std::string& line)> log = [](const std::string&) {};
};

// Until `stop` is readable; every thread and socket is gone by then.
Result<> serve(std::vector<sys::Descriptor> listeners, const ServerOptions& options, int stop);

}  // namespace chokepoint::probe::iperf3
