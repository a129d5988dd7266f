#include "base/trends/standing.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>

#include <boost/math/distributions/students_t.hpp>

#include "base/math/significance.h"
#include "base/math/statistics.h"
#include "base/trends/change_points.h"
#include "base/trends/lately.h"
#include "base/trends/split_fit.h"

namespace chokepoint::trends {
namespace {

constexpr std::size_t kMostOfLevel = 60;  // the latest: a level may drift
constexpr double kFarOff = 4;             // a measurement that far off says nothing of the others
constexpr double kLeastDeviation = 2e-3;  // of the level: equal values may have been rounded

std::vector<double> values_of(std::span<const HistoryPoint> points) {
  std::vector<double> values;
  std::ranges::transform(points, std::back_inserter(values), &HistoryPoint::value);
  return values;
}

bool are_positive(std::span<const double> values, double value) {
  return value > 0 && std::ranges::all_of(values, [](double each) { return each > 0; });
}

// The probability that a further value of these lies as far off as `value`: Student's distribution,
// of a single value beside a mean that is itself uncertain. Positive values are compared by ratios.
double p_of_next(std::vector<double> values, double value) {
  const bool are_ratios = are_positive(values, value);
  if (are_ratios) {
    std::ranges::transform(values, values.begin(), [](double each) { return std::log(each); });
    value = std::log(value);
  }
  const double rounding =
      are_ratios ? kLeastDeviation : kLeastDeviation * std::abs(math::median(values).value_or(0));
  const double typical = std::max(deviation_by_differences(values), rounding);
  const std::vector<double> usual = without_spikes(values, kFarOff * typical);
  const double mean = math::mean(usual).value_or(value);
  const double deviation = std::max(math::standard_deviation(usual).value_or(0), rounding);
  if (deviation <= 0) {
    return 1;
  }
  const auto count = static_cast<double>(usual.size());
  const double away = std::abs(value - mean) / (deviation * std::sqrt(1 + 1 / count));
  const boost::math::students_t distribution(count - 1);
  return 2 * boost::math::cdf(boost::math::complement(distribution, away));
}

void compare_with(double usual, const StandingRules& rules, Standing& standing) {
  standing.usual = usual;
  if (usual != 0) {
    standing.relative = standing.value / usual - 1;
  }
  standing.is_unusual =
      standing.p <= rules.max_p && std::abs(standing.relative.value_or(1)) >= rules.min_relative;
  standing.is_worse = standing.is_unusual && is_worse(standing.series, standing.value, usual);
}

// Measurements before the one at hand.
history::MeasuredSeries before(const history::MeasuredSeries& all, const history::Measured& now) {
  history::MeasuredSeries earlier{.series = all.series};
  std::ranges::copy_if(all.points, std::back_inserter(earlier.points),
                       [&](const history::Measured& each) { return each.wall_ns < now.wall_ns; });
  return earlier;
}

// The last change of level, if it is a late one and the value is on its new side.
const LevelChange* last_change(const SeriesChanges& found, std::int64_t since_ns, double value) {
  if (found.changes.empty()) {
    return nullptr;
  }
  const LevelChange& last = found.changes.back();
  const bool is_more = last.after.median > last.before.median;
  return last.first_bad_ns >= since_ns && (value > last.before.median) == is_more ? &last : nullptr;
}

// Measurements of the level that the one at hand is at or has left, the latest.
std::vector<double> level_before(std::span<const HistoryPoint> earlier,
                                 const SeriesChanges& found) {
  const std::size_t first = found.changes.empty() ? 0 : found.changes.back().index;
  const auto level = earlier.subspan(std::min(first, earlier.size() - 1));
  return values_of(level.last(std::min(level.size(), kMostOfLevel)));
}

// For how many are read together.
void correct(std::vector<Standing>& standings, const StandingRules& rules) {
  std::vector<double> ps;
  std::ranges::transform(standings, std::back_inserter(ps), &Standing::p);
  const std::vector<double> together = math::corrected(ps);
  for (std::size_t at = 0; at < standings.size(); ++at) {
    Standing& standing = standings[at];
    standing.p = together[at];
    standing.is_unusual = standing.is_unusual && standing.p <= rules.max_p;
    standing.is_worse = standing.is_worse && standing.is_unusual;
  }
}

using SeriesKey = std::tuple<history::Subject, std::string_view, std::string_view>;

SeriesKey key_of(const history::Series& series) {
  return {series.subject, series.metric, series.setting};
}

}  // namespace

std::optional<Standing> standing_of(const history::MeasuredSeries& all,
                                    const history::Measured& now, const StandingRules& rules) {
  history::MeasuredSeries measured = before(all, now);
  if (measured.points.empty() || !std::isfinite(now.value)) {
    return std::nullopt;
  }
  Standing standing{.series = all.series, .value = now.value, .earlier = measured.points.size()};
  const std::vector<HistoryPoint> earlier = points_of(measured, now.wall_ns);
  measured.points.push_back(now);
  const auto found = find_changes(points_of(measured, now.wall_ns));
  if (!found) {
    return std::nullopt;
  }
  if (const LevelChange* change = last_change(*found, now.wall_ns - rules.lately_ns, now.value)) {
    const history::Measured& first = measured.points[change->first_bad];
    standing.p = change->p;
    standing.earlier = change->before.points;
    standing.since = NewLevel{.wall_ns = first.wall_ns,
                              .source = first.source,
                              .count = measured.points.size() - change->first_bad};
    compare_with(change->before.median, rules, standing);
    return standing;
  }
  const std::vector<double> values = level_before(earlier, *found);
  standing.earlier = values.size();
  standing.p = values.size() < rules.min_earlier ? 1 : p_of_next(values, now.value);
  compare_with(math::median(values).value_or(now.value), rules, standing);
  return standing;
}

std::vector<Standing> standings_of(std::span<const history::Row> rows,
                                   std::span<const history::MeasuredSeries> all,
                                   const StandingRules& rules) {
  std::map<SeriesKey, const history::MeasuredSeries*> known;
  for (const history::MeasuredSeries& series : all) {
    known.emplace(key_of(series.series), &series);
  }
  std::vector<Standing> standings;
  for (const history::Row& row : rows) {
    const auto series = known.find(key_of(row.series));
    if (series == known.end()) {
      continue;
    }
    if (auto standing = standing_of(*series->second, row.measured, rules)) {
      standings.push_back(*std::move(standing));
    }
  }
  correct(standings, rules);
  return standings;
}

}  // namespace chokepoint::trends
