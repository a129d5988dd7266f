#include "analysis/report/tracks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace chokepoint::analysis {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

Span bin_at(const Edges& edges, std::size_t bin) { return {edges[bin], edges[bin + 1]}; }

double seconds(Span span) { return static_cast<double>(span.length_ns()) / 1e9; }

template <class F>
Values combined(Values first, const Values& second, F&& combine) {
  for (std::size_t bin = 0; bin < std::min(first.size(), second.size()); ++bin) {
    if (std::isnan(first[bin])) {
      first[bin] = second[bin];
    } else if (!std::isnan(second[bin])) {
      first[bin] = combine(first[bin], second[bin]);
    }
  }
  return first;
}

template <class F>
Values by_bin(const Edges& edges, F&& value_of) {
  Values values;
  for (std::size_t bin = 0; bin + 1 < edges.size(); ++bin) {
    values.push_back(value_of(bin_at(edges, bin)));
  }
  return values;
}

// A row belongs to the bin in which it ends; one that ends on an edge, to the bin before.
std::size_t bin_of(const Edges& edges, std::int64_t t_ns) {
  const auto edge = std::ranges::lower_bound(edges, t_ns);
  return static_cast<std::size_t>(edge - edges.begin()) - 1;
}

}  // namespace

Values unknown_values(const Edges& edges) {
  return Values(edges.empty() ? 0 : edges.size() - 1, kUnknown);
}

bool is_any_known(const Values& values) {
  return std::ranges::any_of(values, [](double value) { return !std::isnan(value); });
}

Values either(Values first, const Values& second) {
  return combined(std::move(first), second, [](double one, double) { return one; });
}

Values sum_of(Values first, const Values& second) {
  return combined(std::move(first), second, std::plus<>());
}

Values most_of(Values first, const Values& second) {
  return combined(std::move(first), second,
                  [](double one, double other) { return std::max(one, other); });
}

Values times(Values values, double factor) {
  for (double& value : values) {
    value *= factor;
  }
  return values;
}

Values inside(const Edges& edges, std::span<const Span> known, Values values) {
  for (std::size_t bin = 0; bin < values.size(); ++bin) {
    const std::int64_t middle_ns = edges[bin] + bin_at(edges, bin).length_ns() / 2;
    if (std::ranges::none_of(known, [&](const Span& span) {
          return middle_ns >= span.start_ns && middle_ns <= span.end_ns;
        })) {
      values[bin] = kUnknown;
    }
  }
  return values;
}

Values rate_of(const SeriesData& series, const Edges& edges) {
  return by_bin(edges, [&](Span bin) {
    const auto grown = growth(series, bin);
    return grown ? *grown / seconds(bin) : kUnknown;
  });
}

Values level_of(const SeriesData& series, const Edges& edges) {
  return by_bin(edges, [&](Span bin) { return mean_level(series, bin).value_or(kUnknown); });
}

Values rate_of_sums(std::span<const Point> rows, const Edges& edges) {
  Values values = unknown_values(edges);
  if (rows.empty() || values.empty()) {
    return values;
  }
  std::ranges::fill(values, 0);
  for (const Point& row : rows) {
    if (row.t_ns > edges.front() && row.t_ns <= edges.back()) {
      values[bin_of(edges, row.t_ns)] += row.value;
    }
  }
  for (std::size_t bin = 0; bin < values.size(); ++bin) {
    values[bin] /= seconds(bin_at(edges, bin));
  }
  return values;
}

Values rate_of_counts(std::span<const Point> readings, const Edges& edges) {
  if (readings.size() < 2) {
    return unknown_values(edges);
  }
  SeriesData series;
  for (const Point& reading : readings) {
    series.readings.push_back({.t_ns = reading.t_ns, .value = reading.value});
  }
  const Span seen{readings.front().t_ns, readings.back().t_ns};
  return by_bin(edges, [&](Span bin) {
    const bool is_seen = bin.end_ns > seen.start_ns && bin.start_ns < seen.end_ns;
    return is_seen ? *growth(series, bin) / seconds(bin) : kUnknown;
  });
}

Values mean_of(std::span<const Point> readings, const Edges& edges) {
  Values values = unknown_values(edges);
  std::vector<double> counts(values.size(), 0);
  for (const Point& reading : readings) {
    if (!values.empty() && reading.t_ns > edges.front() && reading.t_ns <= edges.back()) {
      const std::size_t bin = bin_of(edges, reading.t_ns);
      values[bin] = counts[bin] == 0 ? reading.value : values[bin] + reading.value;
      ++counts[bin];
    }
  }
  for (std::size_t bin = 0; bin < values.size(); ++bin) {
    values[bin] /= std::max(counts[bin], 1.0);
  }
  return values;
}

TrackMaker::TrackMaker(const RunData& run, const Clocks& clocks, const std::vector<TimeAxis>& axes)
    : run_(run) {
  for (std::size_t axis = 0; axis < edges_.size(); ++axis) {
    for (std::size_t node = 0; node < run.nodes.size(); ++node) {
      Edges& edges = edges_.at(axis).emplace_back(axes[axis].edges_ns);
      for (std::int64_t& edge : edges) {
        edge = clocks.local_ns(node, edge);
      }
    }
  }
}

Values TrackMaker::read_in_full(AxisUse axis, std::size_t node, Values values) const {
  const std::vector<Span>& windows = run_.nodes[node].windows;
  return windows.empty() ? watched(axis, node, std::move(values))
                         : inside(edges(axis, node), windows, std::move(values));
}

Values TrackMaker::watched(AxisUse axis, std::size_t node, Values values) const {
  return inside(edges(axis, node), std::span(&run_.nodes[node].span, 1), std::move(values));
}

void add_track(Track track, std::vector<Track>& tracks) {
  if (is_any_known(track.values)) {
    tracks.push_back(std::move(track));
  }
}

}  // namespace chokepoint::analysis
