// What can be a rank of a job, and how many there can be. Any thread.
#pragma once

#include <cstdint>

namespace chokepoint::sys {

// A job's ranks count from 0 and are fewer than this. An environment or a file may state any number
// for a rank or for how many there are: what is beyond it counts as unknown.
constexpr std::int64_t kMostRanks = 1 << 20;

constexpr bool is_rank(std::int64_t number) { return number >= 0 && number < kMostRanks; }
constexpr bool is_world_size(std::int64_t number) { return number > 0 && number <= kMostRanks; }

}  // namespace chokepoint::sys
