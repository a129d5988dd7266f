// Answers stock iperf3 clients, one test at a time as 'iperf3 -s' does; a client that comes while
// another test fills the path, of iperf3's or of another kind, is refused as busy. Connections that
// send nothing, or what is no cookie, stay with the acceptor and delay no test.
//
//   serve() ── acceptor's thread ── ClientQueue::arrive ──► a client, or a stream of the
//          │                                               client that is served
//          └── test's thread ── ClientQueue::next_client ── ServerSession
//
// UDP is sent only to the address of the client's control connection, and there only to the ports
// that greeted this server.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/control/limits.h"
#include "base/control/test_queue.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::probe::iperf3 {

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

}  // namespace chokepoint::probe::iperf3
