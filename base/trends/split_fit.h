// Two levels fitted to one series, and how far they are apart, measured by the noise around them.
// Neighbours resemble each other where a series has a daily rhythm or wanders: the noise of a mean
// is then larger than that of independent values, and is measured by the means of blocks. Pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chokepoint::trends {

struct SplitFit {
  double before = 0;  // the levels: means of what lies near the medians
  double after = 0;
  double deviation = 0;  // of one value from its level
  double inflation = 1;  // variance of a mean over that of independent values
  double statistic = 0;  // the distance of the levels over its standard error
  double freedom = 1;    // degrees of it, for Student's distribution
  double p = 1;          // of this split alone, both signs counted
};

// Into [0, k) and [k, n), neither empty. No deviation is taken to be below `min_deviation`.
SplitFit fit_split(std::span<const double> values, std::size_t k, double min_deviation);

// The same series, with every value that lies more than `reach` from the median of its five
// neighbours, itself among them, replaced by that median (Hampel's filter). Where a level changes
// for three values or more the edge stays where it is.
std::vector<double> without_spikes(std::span<const double> values, double reach);

// The standard deviation by the differences of neighbours: not enlarged by changes of the level.
double deviation_by_differences(std::span<const double> values);

// Does one line over time, or a level that turns into a line at some moment, fit the values better
// than two levels do? Then the series drifts, and no moment divides it.
bool is_drift(std::span<const std::int64_t> times_ns, std::span<const double> values, std::size_t k,
              const SplitFit& fit);

struct SplitRange {
  std::size_t low = 0;  // the least and the largest k
  std::size_t best = 0;
  std::size_t high = 0;
};

// Where the series may change from one level of the fit to the other, with 95 % certainty, among k
// from `from` to `to`. Equal times are one moment, which is never divided.
SplitRange split_range(std::span<const std::int64_t> times_ns, std::span<const double> values,
                       const SplitFit& fit, std::size_t from, std::size_t to);

}  // namespace chokepoint::trends
