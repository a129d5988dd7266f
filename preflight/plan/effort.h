// How thoroughly a preflight tests: which tests, how long each, of how many rounds. Values.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chokepoint::preflight::plan {

using Milliseconds = std::chrono::milliseconds;

struct Effort {
  std::string name = {};        // "quick", "default", "thorough"
  std::size_t most_rounds = 0;  // more than that: a sample of this many; 0: whatever it takes
  std::size_t path_rounds = 0;  // of these, in how many the path is looked at; 0: in all
  // Ways that are tested again, alone: each another flow, which a switch's hash sends elsewhere.
  // With a slow link among U equal ones up from a leaf, n of them meet it with 1 - (1 - 1/U)^n.
  std::size_t most_suspects = 0;
  Milliseconds latency{0};
  Milliseconds loss{0};
  Milliseconds tcp{0};
  Milliseconds again{0};
  Milliseconds cut{0};
  Milliseconds rdma{0};
  Milliseconds collective{0};
  std::int64_t collective_bytes = 0;
};

// "quick" (below a minute for 16 hosts, whatever their number then), "default" (minutes for 16),
// "thorough" (all pairs, whatever it takes). Nothing where there is none of that name.
std::optional<Effort> effort_named(std::string_view name);

}  // namespace chokepoint::preflight::plan
