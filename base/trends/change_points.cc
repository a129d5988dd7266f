#include "base/trends/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <boost/math/distributions/students_t.hpp>

#include "base/math/statistics.h"
#include "base/trends/daily_rhythm.h"
#include "base/trends/energy_split.h"
#include "base/trends/split_fit.h"

namespace chokepoint::trends {
namespace {

constexpr std::size_t kRefined = 24;    // points of a new level during which its start may move
constexpr double kSpikeDeviations = 4;  // from the median of five neighbours
constexpr std::size_t kErasedAtOnce = 128;

// Values as they are compared: logarithms, so that differences are ratios; where one is not
// positive, shares of the largest.
struct Scaled {
  std::vector<double> values;
  bool is_logarithmic = true;
  double unit = 1;

  double back(double value) const { return is_logarithmic ? std::exp(value) : value * unit; }
};

Scaled scaled(std::span<const HistoryPoint> points) {
  Scaled result;
  result.is_logarithmic =
      std::ranges::all_of(points, [](const HistoryPoint& point) { return point.value > 0; });
  if (!result.is_logarithmic) {
    double largest = 0;
    for (const HistoryPoint& point : points) {
      largest = std::max(largest, std::abs(point.value));
    }
    result.unit = largest > 0 ? largest : 1;
  }
  for (const HistoryPoint& point : points) {
    result.values.push_back(result.is_logarithmic ? std::log(point.value)
                                                  : point.value / result.unit);
  }
  return result;
}

// NaN where the point does not state it.
double standard_error(const HistoryPoint& point) {
  return point.count > 0 && point.spread > 0
             ? point.spread / std::sqrt(static_cast<double>(point.count))
             : std::numeric_limits<double>::quiet_NaN();
}

// What the points say themselves of their noise: the median of their standard errors.
double own_deviation(std::span<const HistoryPoint> points, const Scaled& scale) {
  std::vector<double> errors;
  for (const HistoryPoint& point : points) {
    if (const double error = standard_error(point); !std::isnan(error)) {
      errors.push_back(error / (scale.is_logarithmic ? point.value : scale.unit));
    }
  }
  return errors.size() * 2 > points.size() ? *math::median(errors) : 0;
}

double min_deviation_of(std::span<const HistoryPoint> points, const Scaled& scale) {
  return std::max(own_deviation(points, scale), kRounding);
}

std::vector<std::int64_t> times_of(std::span<const HistoryPoint> points) {
  std::vector<std::int64_t> times;
  for (const HistoryPoint& point : points) {
    times.push_back(point.t_ns);
  }
  return times;
}

// By the largest energy, among all splits and among those near the end.
std::vector<std::size_t> split_candidates(std::span<const std::int64_t> times_ns,
                                          std::span<const double> values, std::size_t min_points,
                                          std::size_t max_after) {
  const std::size_t latest = values.size() - std::min(values.size(), max_after);
  const std::vector<double> energies = split_energies(values, latest);
  // Earlier splits had their looks before; few points that are left of a level prove little.
  const std::size_t least_before = std::max(min_points, values.size() / 5);
  std::vector<std::size_t> result;
  for (const std::size_t most_after : {max_after / 5, max_after / 2, max_after}) {
    std::optional<std::size_t> best;
    const std::size_t from =
        std::max(least_before, values.size() - std::min(values.size(), most_after));
    for (std::size_t k = from; k + min_points <= values.size(); ++k) {
      if (times_ns[k] != times_ns[k - 1] && (!best || energies[k] > energies[*best])) {
        best = k;
      }
    }
    if (best && (result.empty() || result.back() != *best)) {
      result.push_back(*best);
    }
  }
  return result;
}

// Does the level hold? An outlier whose effect dies away, and a series that wanders, look different
// soon after the split, or looked so before it.
bool holds(std::span<const double> values, std::size_t k, const SplitFit& fit) {
  constexpr double kLeastShare = 0.6;
  constexpr std::size_t kLeastNear = 10;
  const std::size_t after = values.size() - k;
  const std::size_t near = std::min(k, std::max(kLeastNear, after));
  const double before = *math::median(values.subspan(k - near, near));
  const double latest = *math::median(values.last(std::max<std::size_t>(2, after / 3)));
  const double size = fit.after - fit.before;
  return (latest - fit.before) / size >= kLeastShare && (fit.after - before) / size >= kLeastShare;
}

// Is the step far larger than all that the values of either level are apart? Neighbours that
// resemble each other leave a short series no small p, however large its step is.
bool stands_apart(std::span<const double> values, std::size_t k) {
  constexpr std::size_t kLeastBefore = 8;
  constexpr double kRanges = 2;
  if (k < kLeastBefore) {
    return false;
  }
  const auto [low, high] = std::ranges::minmax(values.first(k));
  const auto [later_low, later_high] = std::ranges::minmax(values.subspan(k));
  const double range = std::max(high - low, later_high - later_low);
  return std::max(later_low - high, low - later_high) > kRanges * range;
}

// By a power of the number of points between `few` and a full window.
double max_p_of(std::size_t points, const ChangeRules& rules) {
  if (points <= rules.few) {
    return rules.max_p_of_few;
  }
  const auto few = static_cast<double>(rules.few);
  const double share = std::log(static_cast<double>(points) / few) /
                       std::log(static_cast<double>(rules.window) / few);
  return rules.max_p_of_few * std::pow(rules.max_p / rules.max_p_of_few, share);
}

// Would the day's rhythm explain it?
bool may_be_rhythm(std::span<const std::int64_t> times_ns, std::span<const double> values,
                   const SplitFit& fit, std::size_t k, const ChangeRules& rules, double large) {
  constexpr double kLeastShare = 0.6;
  if (!has_times_of_day(times_ns)) {
    return false;
  }
  const double size = fit.after - fit.before;
  const auto same = change_at_same_hours(times_ns, values, k, rules.min_points);
  return same ? *same / size < kLeastShare : std::abs(size) < large;
}

SeriesLevel level_of(std::span<const HistoryPoint> points, const Scaled& scale, double level,
                     const SplitFit& fit) {
  std::vector<double> values;
  for (const HistoryPoint& point : points) {
    values.push_back(point.value);
  }
  const boost::math::students_t distribution(fit.freedom);
  const double reach = boost::math::quantile(distribution, 0.975) * fit.deviation *
                       std::sqrt(fit.inflation / static_cast<double>(points.size()));
  SeriesLevel result{.median = *math::median(values), .interval = {}, .points = points.size()};
  result.interval = {std::min(result.median, scale.back(level - reach)),
                     std::max(result.median, scale.back(level + reach))};
  return result;
}

}  // namespace

struct ChangeTracker::Candidate {
  std::size_t k = 0;  // within the part
  SplitFit fit;
  double p = 1;
};

Result<> ChangeTracker::add(const HistoryPoint& point) {
  if (!std::isfinite(point.value) || !std::isfinite(point.spread) || point.spread < 0) {
    return fail(ErrorKind::Malformed, "add a point to a history", {},
                "its value or spread is not a finite number");
  }
  if (!points_.empty() && point.t_ns < points_.back().t_ns) {
    return fail(ErrorKind::Malformed, "add a point to a history", {},
                "it is older than the last one");
  }
  points_.push_back(point);
  quick_.add({.value = point.value, .error = standard_error(point)});
  drop_old();
  refine();
  look();
  mark_outlier();
  return {};
}

void ChangeTracker::drop_old() {
  while (points_.size() - level_from_ > rules_.window) {
    ++level_from_;
    quick_.drop_oldest();
    earlier_.reset();
  }
  const std::size_t kept_from = earlier_.value_or(level_from_);
  if (kept_from < kErasedAtOnce) {
    return;
  }
  points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(kept_from));
  first_ += kept_from;
  level_from_ -= kept_from;
  if (earlier_) {
    earlier_ = 0;
  }
}

void ChangeTracker::set_level_from(std::size_t from) {
  if (from == level_from_) {
    return;
  }
  level_from_ = from;
  quick_.clear();
  for (const HistoryPoint& point : std::span(points_).subspan(from)) {
    quick_.add({.value = point.value, .error = standard_error(point)});
  }
}

// A part of the points as the tests take them.
struct ChangeTracker::Window {
  std::span<const HistoryPoint> points;
  Scaled scale;
  std::vector<std::int64_t> times_ns;
  std::vector<double> values;  // without the day's rhythm
  std::vector<double> smooth;  // and without spikes
  double min_deviation = 0;
};

ChangeTracker::Window ChangeTracker::window(std::size_t from) const {
  Window result;
  result.points = std::span(points_).subspan(from);
  result.scale = scaled(result.points);
  result.times_ns = times_of(result.points);
  result.min_deviation = min_deviation_of(result.points, result.scale);
  result.values = without_rhythm(result.times_ns, result.scale.values);
  const double quick = std::max(deviation_by_differences(result.values), result.min_deviation);
  result.smooth = without_spikes(result.values, kSpikeDeviations * quick);
  return result;
}

std::optional<ChangeTracker::Candidate> ChangeTracker::judge(const Window& window,
                                                             std::size_t k) const {
  Candidate candidate{.k = k, .fit = fit_split(window.values, k, window.min_deviation)};
  const SplitFit& fit = candidate.fit;
  candidate.p = std::min(1.0, fit.p * static_cast<double>(window.values.size()));
  const double size = std::abs(fit.after - fit.before);
  const auto relative = [&](double share) {
    return window.scale.is_logarithmic ? std::log1p(share) : share * std::abs(fit.before);
  };
  const double max_p = max_p_of(window.values.size(), rules_);
  const bool is_change =
      (candidate.p <= max_p || stands_apart(window.values, k)) &&
      size >= relative(rules_.min_relative) && size >= rules_.min_deviations * fit.deviation &&
      holds(window.smooth, k, fit) && !is_drift(window.times_ns, window.values, k, fit) &&
      !may_be_rhythm(window.times_ns, window.values, fit, k, rules_,
                     relative(rules_.min_relative_first_day));
  return is_change ? std::optional(candidate) : std::nullopt;
}

std::optional<ChangeTracker::Candidate> ChangeTracker::best_candidate(const Window& window) const {
  std::optional<Candidate> best;
  for (const std::size_t k :
       split_candidates(window.times_ns, window.smooth, rules_.min_points, rules_.max_after)) {
    const auto candidate = judge(window, k);
    if (candidate && (!best || candidate->p < best->p)) {
      best = candidate;
    }
  }
  return best;
}

LevelChange ChangeTracker::change_at(const Window& window, const Candidate& candidate) const {
  const std::size_t count = window.points.size();
  const SplitRange range = split_range(window.times_ns, window.values, candidate.fit, 1, count - 1);
  const std::size_t offset = first_ + points_.size() - count;
  LevelChange change{.index = offset + range.best,
                     .last_good = offset + range.low - 1,
                     .first_bad = offset + range.high,
                     .last_good_ns = window.points[range.low - 1].t_ns,
                     .first_bad_ns = window.points[range.high].t_ns,
                     .before = level_of(window.points.first(range.best), window.scale,
                                        candidate.fit.before, candidate.fit),
                     .after = level_of(window.points.subspan(range.best), window.scale,
                                       candidate.fit.after, candidate.fit),
                     .relative = std::nullopt,
                     .p = candidate.p,
                     .certain_at = first_ + points_.size() - 1};
  if (change.before.median != 0) {
    change.relative = (change.after.median - change.before.median) / std::abs(change.before.median);
  }
  return change;
}

// The place and the levels of the newest change, with one point more.
void ChangeTracker::refine() {
  if (!earlier_) {
    return;
  }
  const Window whole = window(*earlier_);
  LevelChange& last = found_.changes.back();
  const std::size_t k = level_from_ - *earlier_;
  const SplitFit fit = fit_split(whole.values, k, whole.min_deviation);
  if (fit.p > rules_.max_p_of_few) {
    earlier_.reset();  // the level ends already; what was said when it was new stays
    return;
  }
  LevelChange refined = change_at(whole, {.k = k, .fit = fit, .p = last.p});
  if (!has_both_levels(whole, refined.index - first_ - *earlier_)) {
    return;
  }
  refined.certain_at = last.certain_at;
  last = refined;
  set_level_from(refined.index - first_);
  if (points_.size() - level_from_ >= kRefined) {
    earlier_.reset();
  }
}

void ChangeTracker::look() {
  if (points_.size() - level_from_ < 2 * rules_.min_points) {
    return;
  }
  if (!quick_.may_have_changed(rules_.min_points, rules_.max_after)) {
    return;
  }
  const Window now = window(level_from_);
  const double quiet = std::max(deviation_by_differences(now.values), now.min_deviation);
  if (!may_have_changed(now.smooth, *math::median(now.smooth), quiet, rules_.min_points,
                        rules_.max_after)) {
    return;
  }
  const auto candidate = best_candidate(now);
  if (!candidate) {
    return;
  }
  // The energy's split and the likeliest one may differ; what is said has to hold of the latter.
  const std::size_t k = change_at(now, *candidate).index - first_ - level_from_;
  if (!has_both_levels(now, k)) {
    return;
  }
  if (const auto again = judge(now, k)) {
    const LevelChange change = change_at(now, *again);
    if (has_both_levels(now, change.index - first_ - level_from_)) {
      begin_level(change);
    }
  }
}

bool ChangeTracker::has_both_levels(const Window& window, std::size_t k) const {
  return k >= rules_.min_points && k + rules_.min_points <= window.points.size();
}

void ChangeTracker::begin_level(const LevelChange& change) {
  found_.changes.push_back(change);
  earlier_ = level_from_;
  set_level_from(change.index - first_);
  std::erase_if(found_.outliers, [&](std::size_t index) { return index >= change.index; });
}

// The last point that has enough after it for a change: it is either at the level or an outlier.
void ChangeTracker::mark_outlier() {
  const std::size_t after = rules_.min_points - 1;
  if (quick_.size() >= after + 1 + rules_.min_points && quick_.is_outlier(after)) {
    found_.outliers.push_back(first_ + points_.size() - 1 - after);
  }
}

Result<SeriesChanges> find_changes(std::span<const HistoryPoint> points, const ChangeRules& rules) {
  ChangeTracker tracker(rules);
  for (const HistoryPoint& point : points) {
    TRY(tracker.add(point));
  }
  return tracker.found();
}

}  // namespace chokepoint::trends
