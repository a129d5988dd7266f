// Where one series falls apart into two, by energy statistics: Matteson and James, "A nonparametric
// approach for multiple change point analysis of multivariate data", 2014. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace chokepoint::trends {

// Of every split into [0, k) and [k, n) with k ≥ from: the energy distance of both parts times
// nm / (n + m), by k. 0 of other splits, and where a part has no two values. Takes (n - from) n
// steps.
std::vector<double> split_energies(std::span<const double> values, std::size_t from = 0);

}  // namespace chokepoint::trends
