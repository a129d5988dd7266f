// The server's end of a responsiveness test (load.h draws the messages): sends load on request,
// and answers small requests. A load connection gets a thread; the connections of foreign probes,
// which are as many as there are probes, are all served by the session's.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/control/message.h"
#include "base/control/service.h"
#include "base/sys/error.h"

namespace chokepoint::probe::latency {

inline constexpr std::string_view kResponsivenessKind = "responsiveness";

struct LoadRequest {
  std::chrono::nanoseconds time = std::chrono::seconds(60);  // after which the server gives up
  int streams = 32;                                          // load connections in all
  std::string congestion = {};                               // of what the server sends
};

control::Json body_of(const LoadRequest& request);
Result<LoadRequest> load_request_in(const control::Json& body);

std::unique_ptr<control::Service> responsiveness_service();

}  // namespace chokepoint::probe::latency
