// How long the two ends of a test wait for each other. Values.
#pragma once

#include <chrono>

namespace chokepoint::probe::tcp {

inline constexpr std::chrono::seconds kAnswer{10};
// What the slowest path may take to deliver the rest of a test.
inline constexpr std::chrono::seconds kDrain{40};

}  // namespace chokepoint::probe::tcp
