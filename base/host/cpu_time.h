// How each core has spent its time since the host started, from /proc/stat. Two readings give the
// shares in between. Values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// In the kernel's ticks.
struct CoreTime {
  std::int64_t busy = 0;     // everything but idle and waiting for a disk
  std::int64_t softirq = 0;  // the part of it that handled packets and timers
  std::int64_t all = 0;
};

// By the core's number.
using CoreTimes = std::map<int, CoreTime>;

Result<CoreTimes> read_core_times(const sys::Root& root);
// Of the content of /proc/stat.
CoreTimes core_times_in(std::string_view stat);

struct BusiestCores {
  int softirq_core = 0;
  double softirq_percent = 0;
  double busy_percent = 0;  // of the busiest core, which may be another one
};

// Nothing where no time passed.
std::optional<BusiestCores> busiest(const CoreTimes& before, const CoreTimes& after);

}  // namespace chokepoint::host
