// The tests of TCP and UDP beside a test of QUIC, on the same connection to the server. One thread.
#pragma once

#include <vector>

#include "base/control/client.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "probe/quic/outcome.h"
#include "probe/quic/parameters.h"

namespace chokepoint::probe {

// What TCP and UDP carry, into each direction's figures. After the QUIC test, which has ended.
Result<> run_beside(control::Client& client, const quic::Parameters& parameters,
                    const sys::Root& root, int interrupt, std::vector<quic::Outcome>& directions);

}  // namespace chokepoint::probe
