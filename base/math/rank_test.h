// Do two handfuls of measurements differ, by their ranks alone? Mann and Whitney's test: nothing is
// assumed of how values are spread, and one wild value weighs no more than any other. Pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace chokepoint::math {

// How likely ranks as far apart as these are where both are drawn from the same, both ways counted.
// Exact, with ties at their mean rank, up to sixty values together; beyond, by the normal
// approximation. Nothing where one side is empty.
std::optional<double> mann_whitney_p(std::span<const double> first, std::span<const double> second);

// The least that so many can give: with few, even values that are all apart prove nothing.
double least_mann_whitney_p(std::size_t first, std::size_t second);

}  // namespace chokepoint::math
