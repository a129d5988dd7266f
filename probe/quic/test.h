// A QUIC test over a control connection, at both ends: run() is the client's, the service the
// server's. The UDP sockets are met as those of 'probe udp' are (probe/udp/rendezvous.h).
//
//   client                                         server
//     Request {direction, streams, …} ──────────────►
//     Ready … Note                                   the rendezvous of one UDP flow
//     ◄──────────────────────── Begin {certificate}    the SHA-256 of what it made for this test
//     QUIC handshake, ticket, close ════════════════
//     QUIC handshake with the request in 0-RTT ═════   this connection carries the test
//     Begin {} ─────────────────────────────────────►  both count from here on
//     ◄──────────────────────────────────── Begin {}
//     stream data ══════════════════════════════════   either way, or both
//     ◄──────────────────────── Report {interval} …    one per interval
//     Stop {} ──────────────────────────────────────►  all has arrived, or the user interrupted
//     ◄──────────────────────── Result {the server's half}
//
// Everything runs on the caller's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/control/client.h"
#include "base/control/service.h"
#include "base/net/socket.h"
#include "base/sys/root.h"
#include "probe/quic/measurement.h"
#include "probe/quic/parameters.h"

namespace chokepoint::probe::quic {

enum class Side { Client, Server };

// By the client's clock.
struct HandshakeTimes {
  double handshake_ms = 0;  // from its first packet until the handshake was complete
  // From the first packet of a resumed connection until the first byte of the answer to what it
  // sent with it. nullopt where the server gave no ticket.
  std::optional<double> resumption_ms = {};
  bool early_data_accepted = false;
};

struct Trial {
  Parameters parameters = {};
  HandshakeTimes times = {};
  Half client = {};
  Half server = {};
  bool interrupted = false;  // by the user; the halves hold what was measured until then
  // The server is another program: its half is what this end knows by acknowledgements, if
  // anything.
  bool is_foreign = false;
};

// Called with what either side measured in an interval, as it comes: for a live line.
using Watcher = std::function<void(Side side, const IntervalMeasure& interval)>;

struct ClientContext {
  net::SocketOptions socket = {};
  sys::Root root;
  int interrupt = -1;  // readable once the user wants it to end
};

// `waiting` is called while the server's queue has other tests ahead of this one.
Result<Trial> run(control::Client& client, const Parameters& parameters,
                  const ClientContext& context, const Watcher& watcher,
                  const control::Waiting& waiting);

std::unique_ptr<control::Service> quic_service();

}  // namespace chokepoint::probe::quic
