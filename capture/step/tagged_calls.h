// Steps from the tags that a program gives its NCCL calls (NCCL 2.31's userProfilerTag). What a tag
// means is up to the program: it counts as the number of a step where, rank by rank, it counts up
// by one many times in a row and never falls back; tags that name phases, layers or anything else
// make no steps.
//
//   tag      0 0 7 7 7 8 8 8 9 …
//                └─────┴─────┴─ a step begins with the first call that has its number
//
// Bounded memory. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "capture/step/step.h"

namespace chokepoint::capture::step {

struct TaggedCall {
  std::optional<std::int64_t> rank = {};
  std::uint64_t tag = 0;  // 0: none
  std::int64_t t_ns = 0;  // when the program enqueued it
};

class TaggedSteps {
 public:
  // Of each rank in the order of time, give or take calls on several communicators. Reports a step
  // once the next one has begun and the tags are known to count.
  void take(const TaggedCall& call, const OnStep& on_step);

 private:
  struct Rank {
    std::uint64_t tag = 0;
    std::int64_t start_ns = 0;
    bool is_counter = true;
    std::vector<Step> held = {};  // until enough have come in a row
    bool is_proven = false;
  };

  std::map<std::int64_t, Rank> ranks_;
};

}  // namespace chokepoint::capture::step
