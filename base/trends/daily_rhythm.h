// What of a series is the day's rhythm, not a change: work and backups come at the same hours. Pure
// functions over a window of points, in order of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace chokepoint::trends {

// Do points come several a day? Others cannot show a rhythm.
bool has_times_of_day(std::span<const std::int64_t> times_ns);

// The same values less what is usual at their hour: the median, over at least three days, of how
// far values lie off the day around them. As they are where there are fewer days, or no rhythm.
std::vector<double> without_rhythm(std::span<const std::int64_t> times_ns,
                                   std::span<const double> values);

// How far the values from k on are off those before at the same time of the day: the median.
// Nothing where fewer than `min_points` have any.
std::optional<double> change_at_same_hours(std::span<const std::int64_t> times_ns,
                                           std::span<const double> values, std::size_t k,
                                           std::size_t min_points);

}  // namespace chokepoint::trends
