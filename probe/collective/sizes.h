// Which sizes are asked for, as a user writes it: one ("64M"), some ("1K,1M,708M") or a range that
// is stepped through ("8..512M"). Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::probe::collective {

inline constexpr std::size_t kMostSizes = 256;
inline constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 40;

// Ascending, each once. `factor`: from one size of a range to the next. Mistakes are of kind Usage.
Result<std::vector<std::uint64_t>> parse_sizes(std::string_view text, double factor);

}  // namespace chokepoint::probe::collective
