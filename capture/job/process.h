// A process of the watched job, and what it says of its place in it. Values.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/host/launcher.h"

namespace chokepoint::capture::job {

using host::Rank;

// What shells add to a signal's number to tell of it as an exit code.
inline constexpr int kSignalBase = 128;

struct JobProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;  // since boot: with the pid it names a process for good
  std::int64_t start_ns = 0;      // monotonic
  std::string command = {};       // as a shell would take it, cut at a bounded length
  Rank rank = {};
  std::uint64_t network = 0;   // the inode of its network namespace; 0: not known
  std::int64_t record_id = 0;  // its row in the run record; 0: it has none
};

using JobProcesses = std::vector<JobProcess>;

}  // namespace chokepoint::capture::job
