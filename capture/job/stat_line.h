// One line of /proc/PID/stat, and which processes there are. Values; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::capture::job {

struct StatLine {
  std::string name = {};
  char state = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t start_ticks = 0;
  // Where the kernel put the program's stack, arguments and environment: others after an exec().
  // 0 where we may not know.
  std::uint64_t stack = 0;
  std::uint64_t arguments = 0;
  std::uint64_t arguments_end = 0;
  std::uint64_t environment = 0;
  std::uint64_t environment_end = 0;
  int wait_status = 0;  // as waitpid() would give it; of a process that has ended

  bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// Nothing where it is not what the kernel writes.
std::optional<StatLine> parse_stat(std::string_view line);
std::optional<StatLine> read_stat(const sys::Root& root, pid_t pid);

// The names in a folder that are numbers, rising.
std::vector<pid_t> pids_below(const sys::Root& root, std::string_view folder);

}  // namespace chokepoint::capture::job
