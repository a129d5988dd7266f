// How long a call on the network may wait, and what ends the wait early. Every blocking call of
// base/net takes one, so that nothing a peer does or leaves undone can hold a thread. A value.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::net {

struct Deadline {
  using Clock = std::chrono::steady_clock;

  Clock::time_point until;
  int interrupt = -1;  // a descriptor that becomes readable when the wait shall end; not owned

  static Deadline of(std::chrono::nanoseconds wait, int interrupt = -1) {
    return {.until = Clock::now() + wait, .interrupt = interrupt};
  }
  // The same, but no longer than this from now.
  Deadline at_most(std::chrono::nanoseconds wait) const {
    return {.until = std::min(until, Clock::now() + wait), .interrupt = interrupt};
  }
  bool over() const { return Clock::now() >= until; }
};

// Until one of `events` (POLLIN, POLLOUT) holds for the descriptor, or it failed: the next call on
// it tells which. Timeout and Interrupted are errors about `subject`.
Result<> wait_for(int fd, short events, const Deadline& deadline, std::string_view operation,
                  std::string_view subject);

}  // namespace chokepoint::net
