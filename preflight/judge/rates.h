// link.rate, link.oneway, link.shared: ways that are slower than they should be, alone or only
// while others are at it. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "preflight/judge/desk.h"

namespace chokepoint::preflight {

enum class Speed : std::uint8_t {
  Unknown,  // not tested, or nobody knows what it should be
  Well,
  Slow,       // alone
  Suspected,  // in its round, and not tested again
  Shared,     // in its round, and well alone
};

Speed speed_of(const WayResult& way, double least);

void judge_rates(Desk& desk);

}  // namespace chokepoint::preflight
