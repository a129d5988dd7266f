// How often either end looks at a running test. A value.
#pragma once

#include <chrono>

namespace chokepoint::probe::nuttcp {

inline constexpr std::chrono::milliseconds kTick{20};

}  // namespace chokepoint::probe::nuttcp
