// Where one series falls apart into two, by energy statistics: Matteson and James, "A nonparametric
// approach for multiple change point analysis of multivariate data", 2014. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace chokepoint::trends {

// Of every split into [0, k) and [k, n): the energy distance of both parts times nm / (n + m), by
// k. 0 where a part has no two values. Takes n² steps.
std::vector<double> split_energies(std::span<const double> values);

}  // namespace chokepoint::trends
