// The other address family, where a probe before the job measured that it carries more: names that
// have both may lead over the worse one. A probe says nothing of any but the two hosts it ran
// between, nor of the other direction. Pure.
#pragma once

#include <optional>

#include "analysis/attribution/route.h"

namespace chokepoint::analysis {

std::optional<BetterWay> better_family(const DiagnosisInput& input, const DirectionView& view,
                                       const Route& route);

}  // namespace chokepoint::analysis
