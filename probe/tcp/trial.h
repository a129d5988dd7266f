// A TCP test over a control connection, at both ends: run() is the client's, which ends up with
// both halves of the measurement, the service the server's.
//
//   client                                   server
//     Request {direction, streams, …} ────────►
//     ◄──────────────────────────── Ready {}
//     Attach × connections ═══════════════════►     those on which the client sends first
//     ◄──────────────────────────── Begin {}        both ends start their threads
//     ◄═══════════ data ══════════════════════►
//     ◄─────────── Report {interval} …              one per interval and role
//     Stop {} ────────────────────────────────►     the user interrupted: end early
//     ◄─────────── Result {the server's half}
//
// Each end runs on its caller's thread, and the streams on threads of their own that end before it
// returns.
#pragma once

#include <functional>
#include <memory>

#include "base/control/client.h"
#include "base/control/service.h"
#include "base/sys/root.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::tcp {

enum class Side { Client, Server };

struct Trial {
  Parameters parameters = {};
  Half client = {};
  Half server = {};
  bool interrupted = false;  // by the user; the halves hold what was measured until then
};

// Called with what either side measured in an interval, as it comes: for a live line.
using Watcher = std::function<void(Side side, const IntervalMeasure& interval)>;

// `interrupt`: readable once the user wants it to end. `waiting` is called while the server's queue
// has other tests ahead of this one.
Result<Trial> run(control::Client& client, const Parameters& parameters, const sys::Root& root,
                  int interrupt, const Watcher& watcher, const control::Waiting& waiting);

std::unique_ptr<control::Service> tcp_service();

}  // namespace chokepoint::probe::tcp
