// What a server makes of a client's parameters, within its limits. Pure functions.
#pragma once

#include <chrono>

#include "base/control/limits.h"
#include "base/sys/error.h"
#include "probe/nuttcp/parameters.h"

namespace chokepoint::probe::nuttcp {

// Of one step of the handshake.
inline constexpr std::chrono::seconds kStep{5};
// What a test may last beyond its own time before it is given up.
inline constexpr std::chrono::seconds kServerGrace{40};
// A client listens for the data only when it has heard OK.
inline constexpr std::chrono::milliseconds kClientListens{30};

Result<> check(const Parameters& parameters, const control::Limits& limits);

std::chrono::nanoseconds time_of(const Parameters& parameters, const control::Limits& limits);
// Whether the server makes the data connections.
bool connects(const Parameters& parameters);
// Whether it writes a line an interval.
bool reports(const Parameters& parameters);
bool server_sends(const Parameters& parameters);

}  // namespace chokepoint::probe::nuttcp
