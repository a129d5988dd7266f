// Does something inside another network namespace, with a /sys that shows that one: on a thread of
// its own, so that this process stays where it is. Sockets opened there stay there.
#pragma once

#include <functional>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::capture::source {

// `netns`: a name as `ip netns` knows it, or a path. Waits until `work` is done; needs
// CAP_SYS_ADMIN.
Result<> inside_namespace(const std::string& netns, const std::function<void()>& work);

}  // namespace chokepoint::capture::source
