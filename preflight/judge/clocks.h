// clock.offset: hosts whose clock is not the others'. Pure.
#pragma once

#include <optional>
#include <vector>

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

struct HostClock {
  double offset_ms = 0;       // from the median of those it is joined with
  double uncertainty_ms = 0;  // of the way there
  std::size_t joined = 0;     // hosts of whom it can be told, this one included
};

// By host; nothing where no offset was measured.
std::vector<std::optional<HostClock>> clocks_of(const ClusterInput& scene);

void judge_clocks(JudgeContext& desk);

}  // namespace chokepoint::preflight
