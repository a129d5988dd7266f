// Does something inside another network namespace, on a thread of its own, so that the caller's
// stays where it is. Sockets opened there stay there.
#pragma once

#include <functional>

#include "base/sys/error.h"

namespace chokepoint::capture::socket {

// `network`: an open /proc/PID/ns/net. Waits until `work` is done; needs CAP_SYS_ADMIN.
Result<> inside(int network, const std::function<void()>& work);

}  // namespace chokepoint::capture::socket
