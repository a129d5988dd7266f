// Whether a TCP peer's host is still there. A host that vanishes says nothing, and a connection to
// it that only listens would wait for ever. A function without state; any thread.
#pragma once

#include <chrono>

#include "base/sys/error.h"

namespace chokepoint::net {

// The connection ends with a timeout once the peer's kernel has not answered for `silence`, whether
// data is on its way or not. Whole seconds, at least three.
Result<> end_on_silence(int fd, std::chrono::seconds silence);

}  // namespace chokepoint::net
