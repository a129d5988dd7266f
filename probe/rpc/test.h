// A test of calls over a control connection, at both ends: run() is the client's, the service the
// server's. In a chain each server is in its turn a client of the next one:
//
//   client                                 server
//     Request {request_bytes, …, next} ─────►          it asks the first of `next` in the same way,
//     ◄────────────────────────── Ready {}             with the others as that one's next
//     Attach × callers ═════════════════════►
//     ◄────────────────────────── Begin {}
//     ◄════ requests and answers ═══════════►          `outstanding` at once on a connection
//     ◄──────────────── Report {progress} …            each second
//     Stop {} ──────────────────────────────►
//     ◄──────────── Result {the server's half}
//
// Everything runs on the caller's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/control/service.h"
#include "base/sys/root.h"
#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"

namespace chokepoint::probe::rpc {

struct Trial {
  Parameters parameters = {};
  double duration_s = 0;         // from the first call to the last answer
  std::uint64_t unanswered = 0;  // calls that were under way when the test ended
  std::vector<Hop> hops = {};    // the server, then the workers behind it
  HostMeasure client = {};
  std::vector<Interval> intervals = {};
  bool interrupted = false;  // by the user; the rest is what was measured until then
};

// Called with each interval as it ends: for a live line.
using Watcher = std::function<void(const Interval& interval)>;

struct ClientContext {
  sys::Root root;
  std::chrono::nanoseconds interval = std::chrono::seconds(1);
  std::string program = {};  // this one, with its version
  int interrupt = -1;        // readable once the user wants it to end
};

// `waiting` is called while the server's queue has other tests ahead of this one.
Result<Trial> run(control::Client& client, const Parameters& parameters,
                  const ClientContext& context, const Watcher& watcher,
                  const control::Waiting& waiting);

// `program`: this one, with its version. `may_call_others`: whether clients may name hosts that
// this server then connects to.
std::unique_ptr<control::Service> rpc_service(std::string program, bool may_call_others);

}  // namespace chokepoint::probe::rpc
