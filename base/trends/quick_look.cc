#include "base/trends/quick_look.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/math/statistics.h"

namespace chokepoint::trends {
namespace {

constexpr double kScreenDeviations = 4;   // of a difference that is worth a thorough look
constexpr double kOutlierDeviations = 6;  // from the median of the neighbours
constexpr std::size_t kNeighboursBefore = 12;
constexpr std::size_t kMostNear = 32;

double near(double distance, double reach) { return std::min(std::max(distance, -reach), reach); }

// In four sums, which a processor adds at the same time.
double sum_near(std::span<const double> values, double center, double reach) {
  double first = 0;
  double second = 0;
  double third = 0;
  double fourth = 0;
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    first += near(values[i] - center, reach);
    second += near(values[i + 1] - center, reach);
    third += near(values[i + 2] - center, reach);
    fourth += near(values[i + 3] - center, reach);
  }
  for (; i < values.size(); ++i) {
    first += near(values[i] - center, reach);
  }
  return first + second + third + fourth;
}

// Is the median of the values surely no further from `value` than that?
bool is_median_within(std::span<const double> values, double value, double distance) {
  std::size_t above = 0;
  std::size_t below = 0;
  for (const double each : values) {
    above += each >= value - distance ? 1 : 0;
    below += each <= value + distance ? 1 : 0;
  }
  return std::min(above, below) > values.size() / 2;
}

// Sorts them.
double median_of(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return values.size() % 2 == 1 ? *middle
                                : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

bool may_have_changed(std::span<const double> values, double center, double deviation,
                      std::size_t min_after, std::size_t max_after) {
  constexpr double kReach = 8;
  const double reach = kReach * deviation;
  const std::size_t count = values.size();
  const double all = sum_near(values, center, reach);
  double later = 0;
  std::size_t summed = 0;
  for (std::size_t after = min_after; after <= max_after && after + min_after <= count;
       after += 1 + after / 4) {
    later += sum_near(values.subspan(count - after, after - summed), center, reach);
    summed = after;
    const auto second = static_cast<double>(after);
    const auto first = static_cast<double>(count - after);
    if (std::abs(later / second - (all - later) / first) >
        kScreenDeviations * deviation * std::sqrt(1 / first + 1 / second)) {
      return true;
    }
  }
  return false;
}

void QuickLook::Sorted::insert(double value) {
  values_.insert(std::ranges::upper_bound(values_, value), value);
}

void QuickLook::Sorted::erase(double value) {
  if (const auto place = std::ranges::lower_bound(values_, value); place != values_.end()) {
    values_.erase(place);
  }
}

double QuickLook::Sorted::median() const {
  const std::size_t middle = values_.size() / 2;
  return values_.size() % 2 == 1 ? values_[middle] : (values_[middle - 1] + values_[middle]) / 2;
}

double QuickLook::Sorted::largest_distance() const {
  return std::max(std::abs(values_.front()), std::abs(values_.back()));
}

void QuickLook::add(const Point& point) {
  points_.push_back(point);
  not_positive_ += point.value > 0 ? 0 : 1;
  if (is_logarithmic_ && not_positive_ > 0) {
    compare_anew(false);
  } else {
    note(point);
  }
}

void QuickLook::drop_oldest() {
  const Point oldest = points_.front();
  points_.erase(points_.begin());
  not_positive_ -= oldest.value > 0 ? 0 : 1;
  if (!is_logarithmic_ && not_positive_ == 0) {
    compare_anew(true);
    return;
  }
  values_.erase(compared_.front());
  if (compared_.size() > 1) {
    differences_.erase(std::abs(compared_[1] - compared_[0]));
  }
  if (const double error = error_of(oldest); !std::isnan(error)) {
    errors_.erase(error);
  }
  compared_.erase(compared_.begin());
}

void QuickLook::clear() {
  points_.clear();
  not_positive_ = 0;
  compare_anew(true);
}

void QuickLook::compare_anew(bool by_logarithms) {
  is_logarithmic_ = by_logarithms;
  compared_.clear();
  values_.clear();
  differences_.clear();
  errors_.clear();
  for (const Point& point : points_) {
    note(point);
  }
}

void QuickLook::note(const Point& point) {
  const double value = compared(point.value);
  if (!compared_.empty()) {
    differences_.insert(std::abs(value - compared_.back()));
  }
  compared_.push_back(value);
  values_.insert(value);
  if (const double error = error_of(point); !std::isnan(error)) {
    errors_.insert(error);
  }
}

double QuickLook::compared(double value) const { return is_logarithmic_ ? std::log(value) : value; }

double QuickLook::error_of(const Point& point) const {
  return is_logarithmic_ ? point.error / point.value : point.error;
}

// By which values are divided to be compared.
double QuickLook::unit() const {
  const double largest = is_logarithmic_ ? 1 : values_.largest_distance();
  return largest > 0 ? largest : 1;
}

double QuickLook::by_differences() const {
  return differences_.size() == 0
             ? 0
             : differences_.median() * math::kDeviationsPerMedianDeviation / std::numbers::sqrt2;
}

double QuickLook::deviation() const {
  const double own = errors_.size() * 2 > points_.size() ? errors_.median() : 0;
  return std::max({by_differences(), own, kRounding * unit()});
}

bool QuickLook::may_have_changed(std::size_t min_after, std::size_t max_after) const {
  return trends::may_have_changed(compared_, values_.median(), deviation(), min_after, max_after);
}

bool QuickLook::is_outlier(std::size_t after) const {
  const std::size_t at = points_.size() - 1 - after;
  const std::size_t from = at - std::min(at, kNeighboursBefore);
  const auto neighbours =
      std::span(compared_).subspan(from).first(std::min(kMostNear, points_.size() - from));
  const double least = std::max(by_differences(), kRounding * unit());
  if (is_median_within(neighbours, compared_[at], kOutlierDeviations * least)) {
    return false;
  }
  std::array<double, kMostNear> memory{};
  const auto near = std::span(memory).first(neighbours.size());
  std::ranges::copy(neighbours, near.begin());
  const double center = median_of(near);
  const double distance = std::abs(compared_[at] - center);
  for (double& value : near) {
    value = std::abs(value - center);
  }
  const double by_median = median_of(near) * math::kDeviationsPerMedianDeviation;
  return distance > kOutlierDeviations * std::max(by_median, least);
}

}  // namespace chokepoint::trends
