// The server's end of a test that lasts until its client says Stop. A function without state; the
// session's thread.
#pragma once

#include <functional>
#include <string_view>

#include "base/control/session.h"
#include "base/net/patience.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// Calls `work` over and over, which waits for what the test has to do and returns within a fraction
// of a second. An error where `work` fails, the client says anything else or nothing in time, or
// the server stops. `kind` is the test's.
Result<> until_stopped(Session& session, std::string_view kind, const net::Patience& patience,
                       const std::function<Result<>()>& work);

}  // namespace chokepoint::control
