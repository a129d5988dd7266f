// What few measurements tell of the mean behind them, and whether two means differ, by Student's
// distribution: for values that are themselves means of many, as a run's figures are. Pure
// functions.
#pragma once

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

}  // namespace chokepoint::math
