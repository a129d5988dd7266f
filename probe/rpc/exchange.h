// What both ends of a test of calls say over the control connection as the one that calls: the
// client to its server, and a worker to the next one. Functions without state.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/control/client.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/rpc/engine.h"
#include "probe/rpc/measurement.h"
#include "probe/rpc/parameters.h"

namespace chokepoint::probe::rpc {

// How long either end waits for the other's next message.
inline constexpr std::chrono::seconds kAnswer{10};

// The connections of a test that was granted, once the server has begun.
Result<std::vector<sys::Descriptor>> attach_all(control::Client& client,
                                                const Parameters& parameters,
                                                const net::Deadline& deadline);

// Reads what the server has said by now: its progress is noted, a failure is returned.
Result<> hear_progress(control::Client& client, Engine& engine);

// A server that ends the test closes its connections, which is the error `seen`, and then says why.
Error told_by(control::Client& client, Error seen, int interrupt);

// Ends the test. What the server measured.
Result<Half> stop(control::Client& client, const net::Deadline& deadline);

// No byte has moved for too long. Whether messages of the control connection, which are small,
// still pass tells a path that drops large packets from one that is gone.
Error stalled(control::Client& client, const Engine& engine, const Parameters& parameters);

}  // namespace chokepoint::probe::rpc
