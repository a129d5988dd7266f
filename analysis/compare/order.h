// In which order values of keys stand: numbers by size, kinds of parallelism as papers list them.
// Pure functions.
#pragma once

#include <compare>
#include <string_view>

namespace chokepoint::analysis {

enum class ParallelKind { Data, Sharded, Tensor, Pipeline, Unknown };

// What a label calls it: "DP", "Data", "ddp", "FSDP", "TP", "pipeline" …
ParallelKind parallel_kind_of(std::string_view name);

// Text, but the numbers inside it by their size: "2x1" before "10x1".
std::strong_ordering natural_order(std::string_view one, std::string_view other);

}  // namespace chokepoint::analysis
