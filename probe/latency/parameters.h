// What a latency test is asked to be. The load that goes with it is a TCP test of its own, beside
// it. A value.
#pragma once

#include <chrono>

#include "base/control/message.h"
#include "base/sys/error.h"

namespace chokepoint::probe::latency {

// What either end waits for the other's word.
inline constexpr std::chrono::seconds kAnswer{10};

struct Parameters {
  std::chrono::nanoseconds time = std::chrono::seconds(30);  // until the server hears its end
  bool udp = true;                                           // ping over UDP, too
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);

}  // namespace chokepoint::probe::latency
