// Tells systemd that the server answers, as sd_notify(3) describes it.
#pragma once

#include <optional>
#include <string>

namespace chokepoint::probe::serve {

// `socket` is what the environment says in NOTIFY_SOCKET. Nobody waits for a failure of this.
void tell_ready(const std::optional<std::string>& socket);

}  // namespace chokepoint::probe::serve
