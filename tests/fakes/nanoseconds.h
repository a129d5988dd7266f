// Lengths of time in nanoseconds.
#pragma once

#include <cstdint>

namespace chokepoint::fakes {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMs;

}  // namespace chokepoint::fakes
