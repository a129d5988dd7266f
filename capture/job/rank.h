// What a process's environment says of its rank. Launchers pass on their own variables to those
// they launch, so several may be there, and a launcher may look like a rank: what is nearer to the
// training is believed, and `nearness` tells how near it is. Values; any thread.
#pragma once

#include <string_view>

#include "capture/job/process.h"

namespace chokepoint::capture::job {

struct RankFound {
  Rank rank = {};
  int nearness = 0;  // 0: nothing was said

  bool operator==(const RankFound&) const = default;
};

// As /proc/PID/environ has it.
RankFound find_rank(std::string_view environment);

}  // namespace chokepoint::capture::job
