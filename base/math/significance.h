// What few measurements show about the true mean, and whether two means differ, by Student's
// distribution: for values that are themselves means of many, as a run's figures are. Pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::math {

struct Interval {
  double low = 0;
  double high = 0;
};

// Of the values, with n − 1 below; nothing of fewer than two.
std::optional<double> standard_deviation(std::span<const double> values);

// Where the mean lies, with this confidence (0..1); nothing of fewer than two values.
std::optional<Interval> mean_interval(std::span<const double> values, double confidence);

struct MeanTest {
  double p = 1;        // both ways counted
  Interval less = {};  // the second's mean less the first's
};

// Welch's test. Where one side is a single value its spread is taken to be the other's; nothing
// where both are single.
std::optional<MeanTest> compare_means(std::span<const double> first, std::span<const double> second,
                                      double confidence);

// Holm's correction of several tests that are read together: of every p its corrected one, so that
// the chance of a single false alarm among all of them stays what is asked for.
std::vector<double> corrected(std::span<const double> ps);

// Do two handfuls of measurements differ, by their ranks alone? Mann and Whitney's test: nothing is
// assumed of how values are spread, and one wild value weighs no more than any other. Pure
// functions.

// How likely ranks as far apart as these are where both are drawn from the same, both ways counted.
// Exact, with ties at their mean rank, up to sixty values together; beyond, by the normal
// approximation. Nothing where one side is empty.
std::optional<double> mann_whitney_p(std::span<const double> first, std::span<const double> second);

// The least that so many can give: with few, even values that are all apart prove nothing.
double least_mann_whitney_p(std::size_t first, std::size_t second);

// Intervals for a series whose neighbours resemble each other, as a job's steps do: it is cut into
// blocks that count as one value. The same input gives the same answer: random numbers come from a
// fixed seed. Pure functions.

// The mean of each of so many blocks, one after the other, as equal as they can be. As many as
// there are values at most.
std::vector<double> block_means(std::span<const double> values, std::size_t blocks);

// The second's mean over the first's, by a bootstrap of moving blocks of so many values: where it
// lies with this confidence (0..1). Nothing where one is empty or the first's mean is not positive.
std::optional<Interval> bootstrap_ratio(std::span<const double> first,
                                        std::span<const double> second, std::size_t block,
                                        double confidence);

}  // namespace chokepoint::math
