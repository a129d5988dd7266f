// The server's end of a responsiveness test (load.h draws what both ends say): fills what it is
// asked to fill, and answers small requests. A load connection gets a thread; the connections of
// foreign probes, which are as many as there are probes, are all served by the session's. There is
// one ResponsivenessService for all sessions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/control/message.h"
#include "base/control/service.h"
#include "base/sys/error.h"

namespace chokepoint::probe::latency {

struct LoadRequest {
  std::chrono::nanoseconds time = std::chrono::seconds(60);  // after which the server gives up
  int streams = 32;                                          // load connections in all
  std::string congestion = {};                               // of what the server sends
};

control::Json body_of(const LoadRequest& request);
Result<LoadRequest> load_request_in(const control::Json& body);

// Heavy: it has the path for itself.
class ResponsivenessService final : public control::Service {
 public:
  std::string_view kind() const override { return "responsiveness"; }
  Result<control::Demand> check(const control::Json& parameters,
                                const control::Limits& limits) const override;
  Result<control::Json> serve(control::Session& session, const control::Json& parameters) override;
};

}  // namespace chokepoint::probe::latency
