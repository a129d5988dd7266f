// The relay's own side: a process that reads what the job prints and writes it on, byte for byte,
// waiting where the reader lets it wait, as the job would. Copies go to chokepoint where it takes
// them at once. It keeps no file but the four it needs, no terminal and no folder, and nothing but
// SIGKILL ends it before the job's output ends.
//
//   read ──▶ write all ──▶ copy to chokepoint, or count it as missed ──▶ read …
//     │         └─ the reader is gone: end, and the job's next write gets SIGPIPE
//     └─ closed by all of the job: end
#pragma once

#include "base/sys/clock.h"

namespace chokepoint::capture::job {

struct RelayEnds {
  int from = -1;             // what the job prints
  int to = -1;               // our own output
  int control = -1;          // chokepoint, see relay_message.h
  bool is_terminal = false;  // `from` is the near side of a terminal that follows the size of `to`
};

// In a process just forked, with all signals blocked.
[[noreturn]] void become_relay(const RelayEnds& ends, const sys::Clock& clock);

}  // namespace chokepoint::capture::job
