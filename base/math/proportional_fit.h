// Fits a table of estimates to what its rows and columns are known to sum to, by turns (iterative
// proportional fitting): cells keep their proportions as far as the sums allow. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace chokepoint::math {

// Row by row; what is not negative.
struct GuessTable {
  std::size_t columns = 0;
  std::vector<double> cells = {};
};

// Both sums have the same total. A row or column without estimates is filled in proportion to the
// other side's sums. The rows of the result sum to `rows`, its columns nearly to `columns`.
void fit_to_sums(GuessTable& table, std::span<const double> rows, std::span<const double> columns);

}  // namespace chokepoint::math
