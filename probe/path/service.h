// The server's end of a path test: it surveys the way to the client while the client surveys the
// way to it. Both probe along one UDP flow and echo each other's probes.
//
//   client                                     server
//     Request {protocol, probes, …} ──────────►
//     ◄────────────── Ready {udp_port, token}
//     ═════════ introduction.h, by UDP ═══════
//     Begin {udp} ────────────────────────────►
//     ◄───────────────────────────── Begin {}      this end is ready for probes
//     ◄═══════ probes and echoes, UDP ════════►   both at once
//     ◄──────────── Report {the survey back}       the server is done, and still echoes
//     Stop {} ────────────────────────────────►   the client is done, too, or lost patience
//     ◄──────────────────────────── Result {}
#pragma once

#include "base/control/session.h"

namespace chokepoint::probe::path {

class PathService final : public control::Service {
 public:
  std::string_view kind() const override { return "path"; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

}  // namespace chokepoint::probe::path
