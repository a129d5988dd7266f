// How likely so much loss is by chance, and how far figures are apart by it. Pure functions.
#pragma once

#include <vector>

namespace chokepoint::preflight {

// That at least so many come where `mean` are expected, and each comes by itself (Poisson).
double chance_of_at_least(double count, double mean);

// What is as many standard deviations off is so by more than chance.
inline constexpr double kSigmas = 4;

// The standard deviation of normal data, which a few wild values cannot move; 0 of none.
double spread_of(const std::vector<double>& values);

}  // namespace chokepoint::preflight
