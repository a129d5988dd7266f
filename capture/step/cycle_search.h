// The shortest cycle in a series of collectives: the least number of them after which kinds and
// sizes come back, and as regularly in time as any. Time matters: buckets of one size are told from
// steps by the pauses between them. What is rare and small, such as a loss that is averaged now and
// then, is left out. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capture/step/size_classes.h"

namespace chokepoint::capture::step {

struct CycleItem {
  SizedKind sized = {};
  std::uint64_t token = 0;  // its sort
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t gap_ns = 0;  // since all before were over
};

struct Cycle {
  std::size_t length = 0;
  std::uint64_t first_token = 0;
  std::int64_t least_gap_ns = 0;  // before the first; 0: no pause tells it from the others
  std::int64_t period_ns = 0;
};

// Those that are no part of a cycle, sorted.
std::vector<std::uint64_t> rare_tokens(std::span<const CycleItem> items);

// Of items in order of time, without rare ones.
std::optional<Cycle> find_cycle(std::span<const CycleItem> items);

}  // namespace chokepoint::capture::step
