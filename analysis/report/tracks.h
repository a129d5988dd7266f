// The curves of a timeline, one value for each bin of its axis: figures of bins from the rows of
// one node, and what every kind of track needs to make them. Edges are by that node's own clock.
// TrackMaker borrows the run; all functions are pure.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <vector>

#include "analysis/load/run_data.h"
#include "analysis/report/timeline.h"

namespace chokepoint::analysis {

using Edges = std::vector<std::int64_t>;
using Values = std::vector<double>;  // NaN: unknown

Values unknown_values(const Edges& edges);
bool is_any_known(const Values& values);
// The value of `second` where that of `first` is unknown.
Values either(Values first, const Values& second);
// Unknown only where both values are.
Values sum_of(Values first, const Values& second);
Values most_of(Values first, const Values& second);
Values times(Values values, double factor);
// Unknown outside of `known`.
Values inside(const Edges& edges, std::span<const Span> known, Values values);

// A counter's growth per second.
Values rate_of(const SeriesData& series, const Edges& edges);
// The mean of a gauge.
Values level_of(const SeriesData& series, const Edges& edges);

struct Point {
  std::int64_t t_ns = 0;
  double value = 0;
};
// Per second; each row has the sum of its own span.
Values rate_of_sums(std::span<const Point> rows, const Edges& edges);
// Per second; readings of a count that only grows, interpolated linearly.
Values rate_of_counts(std::span<const Point> readings, const Edges& edges);
Values mean_of(std::span<const Point> readings, const Edges& edges);

enum class AxisUse : std::size_t { Node, Flow };  // places in Timeline::axes

class TrackMaker {
 public:
  TrackMaker(const RunData& run, const Clocks& clocks, const std::vector<TimeAxis>& axes);

  const RunData& run() const { return run_; }
  // By that node's own clock.
  const Edges& edges(AxisUse axis, std::size_t node) const {
    return edges_[static_cast<std::size_t>(axis)][node];
  }
  // Keeps the bins in the time of which all of the node's samples were read.
  Values read_in_full(AxisUse axis, std::size_t node, Values values) const;
  // Keeps the bins in the time in which the node was watched.
  Values watched(AxisUse axis, std::size_t node, Values values) const;

 private:
  const RunData& run_;
  std::array<std::vector<Edges>, 2> edges_;
};

// Adds the track if it has a known value.
void add_track(Track track, std::vector<Track>& tracks);

std::vector<Track> node_tracks(const TrackMaker& maker);
// Of the `most` connections that carried most payload.
std::vector<Track> flow_tracks(const TrackMaker& maker, std::size_t most);
constexpr std::size_t kTracksOfFlow = 10;

}  // namespace chokepoint::analysis
