#include "base/trends/quick_look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "base/math/statistics.h"

namespace chokepoint::trends {
namespace {

constexpr std::size_t kMinAfter = 5;
constexpr std::size_t kMaxAfter = 40;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The same of a list of points, each time from the beginning.
struct Plain {
  explicit Plain(const std::vector<QuickLook::Point>& points) {
    const bool is_logarithmic =
        std::ranges::all_of(points, [](const auto& point) { return point.value > 0; });
    double largest = 0;
    for (const QuickLook::Point& point : points) {
      largest = std::max(largest, std::abs(point.value));
    }
    unit = is_logarithmic || largest == 0 ? 1 : largest;
    std::vector<double> errors;
    for (const QuickLook::Point& point : points) {
      values.push_back(is_logarithmic ? std::log(point.value) : point.value / unit);
      if (!std::isnan(point.error)) {
        errors.push_back(point.error / (is_logarithmic ? point.value : unit));
      }
    }
    std::vector<double> differences;
    for (std::size_t i = 1; i < values.size(); ++i) {
      differences.push_back(std::abs(values[i] - values[i - 1]));
    }
    by_differences = math::median(differences).value_or(0) * math::kDeviationsPerMedianDeviation /
                     std::numbers::sqrt2;
    const double own = errors.size() * 2 > points.size() ? *math::median(errors) : 0;
    deviation = std::max({by_differences, own, kRounding});
  }

  bool is_outlier(std::size_t after) const {
    const std::size_t at = values.size() - 1 - after;
    const auto near = std::span(values).subspan(at - std::min<std::size_t>(at, 12));
    const double by_median =
        *math::median_absolute_deviation(near) * math::kDeviationsPerMedianDeviation;
    return std::abs(values[at] - *math::median(near)) >
           6 * std::max({by_median, by_differences, kRounding});
  }

  std::vector<double> values;
  double unit = 1;
  double by_differences = 0;
  double deviation = 0;
};

std::vector<double> mixed_values(std::mt19937& random, std::size_t count) {
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<double> values;
  double level = 100;
  for (std::size_t i = 0; i < count; ++i) {
    level *= random() % 40 == 0 ? 1.1 : 1;
    const bool is_none = i > count / 2 && random() % 50 == 0;
    values.push_back(is_none ? 0 : level * (1 + noise(random)) * (random() % 30 == 0 ? 2 : 1));
  }
  return values;
}

TEST(QuickLook, KeepsWhatIsFoundFromTheBeginning) {
  constexpr std::size_t kWindow = 60;
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same series each time
  std::size_t yes = 0;
  std::size_t outliers = 0;
  for (int series = 0; series < 20; ++series) {
    QuickLook quick;
    std::vector<QuickLook::Point> points;
    for (const double value : mixed_values(random, 300)) {
      const bool has_error = series % 2 == 0 && random() % 4 != 0;
      const QuickLook::Point point{.value = value, .error = has_error ? value / 50 : kUnknown};
      points.push_back(point);
      quick.add(point);
      if (points.size() > kWindow) {
        points.erase(points.begin());
        quick.drop_oldest();
      }
      if (points.size() < 2 * kMinAfter) {
        continue;
      }
      const Plain plain(points);
      const bool may = quick.may_have_changed(kMinAfter, kMaxAfter);
      ASSERT_EQ(may, may_have_changed(plain.values, *math::median(plain.values), plain.deviation,
                                      kMinAfter, kMaxAfter));
      ASSERT_EQ(quick.is_outlier(kMinAfter - 1), plain.is_outlier(kMinAfter - 1));
      yes += may ? 1 : 0;
      outliers += quick.is_outlier(kMinAfter - 1) ? 1 : 0;
    }
  }
  EXPECT_GT(yes, 100U);
  EXPECT_GT(outliers, 10U);
}

TEST(QuickLook, IsEmptyAgain) {
  QuickLook quick;
  quick.add({.value = 0, .error = kUnknown});
  quick.clear();
  EXPECT_EQ(quick.size(), 0U);
}

TEST(MayHaveChanged, AStepAtTheEnd) {
  std::vector<double> values(50, 1.0);
  EXPECT_FALSE(may_have_changed(values, 1, 0.01, kMinAfter, kMaxAfter));
  std::fill(values.end() - 6, values.end(), 1.05);
  EXPECT_TRUE(may_have_changed(values, 1, 0.01, kMinAfter, kMaxAfter));
}

}  // namespace
}  // namespace chokepoint::trends
