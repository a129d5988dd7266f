// How often a change of level is found in a history, how soon, and how often one that is not there:
// series drawn by a seed (made_series.h), half of them with a change of 2 to 50 %, every point a
// look; and months of healthy hourly points. Beside them a fixed threshold. A line of JSON each
// row.
//
//   history_bench [SEED [SERIES [HEALTHY_MONTHS [FILE]]]]
//
// FILE gets the series, a line of JSON each, for other programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/math/statistics.h"
#include "base/trends/change_points.h"
#include "tests/bench/history/made_series.h"

namespace chokepoint::bench {
namespace {

using trends::HistoryPoint;
using trends::LevelChange;
using trends::SeriesChanges;

// Where a fixed threshold sees changes: the median of three points off that of the first twenty.
std::optional<std::size_t> threshold_alarm(std::span<const HistoryPoint> points) {
  constexpr std::size_t kFirst = 20;
  constexpr double kThreshold = 0.1;
  std::vector<double> values;
  for (const HistoryPoint& point : points) {
    values.push_back(point.value);
    const auto known = std::span(values).first(std::min(kFirst, (values.size() + 1) / 2));
    if (values.size() >= 8) {
      const double now = *math::median(std::span(values).last(3));
      if (std::abs(now / *math::median(known) - 1) > kThreshold) {
        return values.size() - 1;
      }
    }
  }
  return std::nullopt;
}

struct Row {
  int series = 0;
  int found = 0;
  int with_wrong = 0;          // series with a change that is none
  int covered = 0;             // of the found: the change lies between last good and first bad
  std::vector<double> delays;  // in points
  std::vector<double> misses;  // of the place, in points
  std::vector<double> widths;  // of the place's interval, in points
  int threshold_found = 0;
  int threshold_wrong = 0;
  std::vector<double> threshold_delays;
};

// Within the tenth of the series around it, and in its direction.
bool is_of(const LevelChange& found, const MadeSeries& series) {
  const auto at = static_cast<double>(*series.change_at);
  const double reach = std::max(5.0, static_cast<double>(series.points.size()) / 10);
  return found.certain_at >= *series.change_at && found.relative &&
         (*found.relative > 0) == (series.change > 0) &&
         std::abs(static_cast<double>(found.index) - at) <= reach;
}

void count_found(Row& row, const MadeSeries& series, const SeriesChanges& found) {
  ++row.series;
  bool is_found = false;
  bool is_wrong = false;
  for (const LevelChange& change : found.changes) {
    if (is_found || !series.change_at || !is_of(change, series)) {
      is_wrong = true;
      continue;
    }
    is_found = true;
    const std::size_t at = *series.change_at;
    row.covered += change.last_good < at && at <= change.first_bad ? 1 : 0;
    row.delays.push_back(static_cast<double>(change.certain_at - at + 1));
    row.misses.push_back(std::abs(static_cast<double>(change.index) - static_cast<double>(at)));
    row.widths.push_back(static_cast<double>(change.first_bad - change.last_good));
  }
  row.found += is_found ? 1 : 0;
  row.with_wrong += is_wrong ? 1 : 0;
}

void count_threshold(Row& row, const MadeSeries& series) {
  const auto alarm = threshold_alarm(series.points);
  if (!alarm) {
    return;
  }
  if (series.change_at && *alarm >= *series.change_at) {
    ++row.threshold_found;
    row.threshold_delays.push_back(static_cast<double>(*alarm - *series.change_at + 1));
  } else {
    ++row.threshold_wrong;
  }
}

double at_share(std::span<const double> values, double share) {
  return math::quantile(values, share).value_or(0);
}

void print_row(const std::string& name, const Row& row) {
  fmt::print(R"({{"series": "{}", "count": {}, "found": {}, "with_wrong": {}, "place_held": {}, )"
             R"("delay_points": [{:.0f}, {:.0f}, {:.0f}], "place_off": [{:.0f}, {:.0f}], )"
             R"("place_width": {:.0f}, "threshold_found": {}, "threshold_wrong": {}, )"
             R"("threshold_delay": {:.0f}}})"
             "\n",
             name, row.series, row.found, row.with_wrong, row.covered, at_share(row.delays, 0.1),
             at_share(row.delays, 0.5), at_share(row.delays, 0.9), at_share(row.misses, 0.5),
             at_share(row.misses, 0.9), at_share(row.widths, 0.5), row.threshold_found,
             row.threshold_wrong, at_share(row.threshold_delays, 0.5));
  std::fflush(stdout);
}

void write_series(std::FILE* file, const MadeSeries& series) {
  std::vector<double> values;
  std::vector<std::int64_t> times;
  for (const HistoryPoint& point : series.points) {
    values.push_back(point.value);
    times.push_back(point.t_ns);
  }
  fmt::print(file,
             R"({{"change_at": {}, "change": {}, "noise": {}, "times_ns": {}, "values": {}}})"
             "\n",
             series.change_at ? static_cast<long>(*series.change_at) : -1L, series.change,
             series.noise, times, values);
}

// Sizes of changes, and changes as multiples of a point's noise.
struct Rows {
  Row healthy;
  std::vector<Row> by_size = std::vector<Row>(4);
  std::vector<Row> by_noise = std::vector<Row>(4);
};

std::size_t band(double value, std::span<const double> ends) {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, value) - ends.begin());
}

void measure_changes(std::uint64_t seed, int count, std::FILE* file) {
  constexpr std::array kSizes{0.05, 0.1, 0.2};
  constexpr std::array kNoises{1.0, 2.0, 5.0};
  SeriesChance chance(seed);
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const auto points = static_cast<std::size_t>(chance.log_uniform(10, 1001));
    const MadeSeries series = made_series(chance, {.points = points, .has_change = i % 2 == 1});
    const SeriesChanges found = *trends::find_changes(series.points);
    if (file != nullptr) {
      write_series(file, series);
    }
    const double size = std::max(series.change, -series.change / (1 + series.change));
    for (Row* row : series.change_at
                        ? std::vector<Row*>{&rows.by_size[band(size, kSizes)],
                                            &rows.by_noise[band(size / series.noise, kNoises)]}
                        : std::vector<Row*>{&rows.healthy}) {
      count_found(*row, series, found);
      count_threshold(*row, series);
    }
  }
  print_row("healthy, 10 to 1000 points", rows.healthy);
  constexpr std::array kSizeNames{"2 to 5 %", "5 to 10 %", "10 to 20 %", "20 to 50 %"};
  constexpr std::array kNoiseNames{"below 1 deviation", "1 to 2 deviations", "2 to 5 deviations",
                                   "5 deviations and more"};
  for (std::size_t i = 0; i < kSizeNames.size(); ++i) {
    print_row(kSizeNames[i], rows.by_size[i]);
  }
  for (std::size_t i = 0; i < kNoiseNames.size(); ++i) {
    print_row(kNoiseNames[i], rows.by_noise[i]);
  }
}

void measure_healthy(std::uint64_t seed, int months) {
  constexpr std::size_t kMonth = 720;
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15;
  SeriesChance chance(seed ^ kOther);
  int alarms = 0;
  int threshold_alarms = 0;
  const std::clock_t began = std::clock();
  for (int i = 0; i < months; ++i) {
    const MadeSeries series = made_series(chance, {.points = kMonth, .is_hourly = true});
    const SeriesChanges found = *trends::find_changes(series.points);
    alarms += found.changes.empty() ? 0 : 1;
    threshold_alarms += threshold_alarm(series.points) ? 1 : 0;
  }
  const double us = 1e6 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  fmt::print(R"({{"series": "healthy months, hourly", "count": {}, "with_wrong": {}, )"
             R"("threshold_wrong": {}, "us_per_point": {:.1f}}})"
             "\n",
             months, alarms, threshold_alarms, us / static_cast<double>(months) / kMonth);
}

}  // namespace
}  // namespace chokepoint::bench

int main(int count, char** words) {
  const auto number = [&](int at, int otherwise) {
    return count > at ? std::atoi(words[at]) : otherwise;
  };
  std::FILE* file = count > 4 ? std::fopen(words[4], "w") : nullptr;
  const auto seed = static_cast<std::uint64_t>(number(1, 1));
  chokepoint::bench::measure_changes(seed, number(2, 1000), file);
  chokepoint::bench::measure_healthy(seed, number(3, 2000));
  if (file != nullptr) {
    std::fclose(file);
  }
  return 0;
}
