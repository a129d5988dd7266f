// What /proc/PID/stat says of a process, or of a thread: time on a core and memory in use. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace chokepoint::capture::counter {

struct ProcessStat {
  std::uint64_t cpu_ns = 0;  // in hundredths of a second
  std::uint64_t memory_bytes = 0;
};

std::optional<ProcessStat> process_stat_in(std::string_view text);

}  // namespace chokepoint::capture::counter
