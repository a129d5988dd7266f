// Whether something has come to a descriptor, such as the signal that interrupts a command.
#pragma once

#include <poll.h>

namespace chokepoint::probe {

inline bool is_readable(int descriptor) {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace chokepoint::probe
