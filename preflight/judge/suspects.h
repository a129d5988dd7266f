// Which ways shall be tested again with nothing else on, so that a slow link is told from a shared
// one. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "preflight/judge/limits.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// At most so many, from whom to whom. First for every host that suffers the way that suffers most,
// then each one's next, so that few repeats tell about as many hosts as possible.
std::vector<std::pair<HostIndex, HostIndex>> suspects(const Measured& measured,
                                                      const Limits& limits, std::size_t most);

}  // namespace chokepoint::preflight
