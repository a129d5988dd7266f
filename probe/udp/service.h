// UDP tests as the server offers them. One object for all sessions; serve() runs on a session's
// thread, and the flows on threads of their own that end before it returns.
#pragma once

#include "base/control/session.h"

namespace chokepoint::probe::udp {

class UdpService final : public control::Service {
 public:
  std::string_view kind() const override { return "udp"; }
  Result<control::Weight> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

}  // namespace chokepoint::probe::udp
