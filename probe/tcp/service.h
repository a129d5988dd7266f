// The server's end of a TCP test.
//
//   client                                   server
//     Request {direction, streams, …} ────────►
//     ◄──────────────────────────── Ready {}
//     Attach × connections ═══════════════════►     the client's senders first
//     ◄──────────────────────────── Begin {}        both ends start their threads
//     ◄═══════════ data ══════════════════════►
//     ◄─────────── Report {intervals} …             one an interval
//     Stop {} ────────────────────────────────►     the user lost patience: end early
//     ◄─────────── Result {the server's half}
#pragma once

#include "base/control/session.h"

namespace chokepoint::probe::tcp {

class TcpService final : public control::Service {
 public:
  std::string_view kind() const override { return "tcp"; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

}  // namespace chokepoint::probe::tcp
