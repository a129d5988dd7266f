// Fits a table of guesses to what its rows and columns are known to sum to, by turns (iterative
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

// Both sums have the same total. A row or column of which nothing is guessed is guessed to go as
// the other side's sums. The rows of what comes back sum to `rows`, its columns nearly to
// `columns`.
void fit_to_sums(GuessTable& table, std::span<const double> rows, std::span<const double> columns);

}  // namespace chokepoint::math
