// Figures of a track's bins, from the rows of one node. Edges are by that node's own clock. Pure.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

using Edges = std::vector<std::int64_t>;
using Values = std::vector<double>;  // NaN: unknown

Values unknown_values(const Edges& edges);
bool is_any_known(const Values& values);
// Where one is unknown, what the other says.
Values either(Values first, const Values& second);
// Unknown counts for nothing, but where both are unknown.
Values sum_of(Values first, const Values& second);
Values most_of(Values first, const Values& second);
Values times(Values values, double factor);
// Outside of these nothing is known.
Values inside(const Edges& edges, std::span<const Span> known, Values values);

// Growth a second, of a counter.
Values rate_of(const SeriesData& series, const Edges& edges);
// The mean of a gauge.
Values level_of(const SeriesData& series, const Edges& edges);

// What the rows of a bin say: when, and how much.
struct Point {
  std::int64_t t_ns = 0;
  double value = 0;
};
// A second, of rows that each tell what was in their own span.
Values rate_of_sums(std::span<const Point> rows, const Edges& edges);
// A second, of readings of something that only grows; straight lines between them.
Values rate_of_counts(std::span<const Point> readings, const Edges& edges);
Values mean_of(std::span<const Point> readings, const Edges& edges);

}  // namespace chokepoint::analysis
