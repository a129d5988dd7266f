// Latency tests as the server offers them: it sends back what comes, over one TCP connection and,
// where both ends can meet over it, one UDP flow.
//
//   client                                           server
//     Request {kind latency, time_ns, udp} ───────────►
//     ◄──────────── Ready, and with udp the rendezvous of probe/udp/rendezvous.h
//     Attach ═════════════════════════════════════════►  the TCP connection
//     Ping ◄══════════════════════════════════════════►  over either, sent back: 64 bytes each
//     Stop {} ────────────────────────────────────────►
//     ◄───────────────────────────────────── Result {}
//
// A light test: it needs next to nothing, so it runs beside the load whose effect it measures. One
// object for all sessions; serve() runs on a session's thread.
#pragma once

#include "base/control/session.h"

namespace chokepoint::probe::latency {

class LatencyService final : public control::Service {
 public:
  std::string_view kind() const override { return "latency"; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

}  // namespace chokepoint::probe::latency
