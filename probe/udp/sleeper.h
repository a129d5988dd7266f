// Sleeps until a moment of the monotonic clock, as closely as the host allows. A long wait is the
// kernel's timer, told to be as early as it has been late on average; a wait too short for that is
// spent turning. Turning costs a core, and on a busy host those who burn their core are made to
// wait longest, so it is done only where there is no other way. One thread, the one that made it:
// the kernel's habit of putting wake-ups together is switched off for that thread, and where this
// process may, the thread goes before others: before all of them where it sleeps most of the time
// and so takes little from them, else only a little before.
#pragma once

#include <cstdint>

#include "base/sys/clock.h"

namespace chokepoint::probe::udp {

class Sleeper {
 public:
  // `usual_ns`: from one moment to the next; 0: not known.
  explicit Sleeper(std::int64_t usual_ns = 0);
  std::int64_t now_ns() const { return clock_.monotonic_ns(); }
  // Returns the time it is then: perhaps earlier, after a long sleep, so that a caller can look
  // about.
  std::int64_t until(std::int64_t when_ns);

 private:
  void learn(std::int64_t late_ns);

  sys::SystemClock clock_;
  std::int64_t late_ns_ = 0;  // the usual
};

}  // namespace chokepoint::probe::udp
