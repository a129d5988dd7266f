#include "base/trends/energy_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace chokepoint::trends {
namespace {

// By the definition: n³ steps.
double energy_at(const std::vector<double>& values, std::size_t k) {
  const auto mean_distance = [&](std::size_t from, std::size_t to, std::size_t other_from,
                                 std::size_t other_to, double pairs) {
    double sum = 0;
    for (std::size_t i = from; i < to; ++i) {
      for (std::size_t j = other_from; j < other_to; ++j) {
        sum += std::abs(values[i] - values[j]);
      }
    }
    return sum / pairs;
  };
  const auto n = static_cast<double>(k);
  const auto m = static_cast<double>(values.size() - k);
  const double between = mean_distance(0, k, k, values.size(), n * m);
  const double first = mean_distance(0, k, 0, k, n * (n - 1));
  const double second = mean_distance(k, values.size(), k, values.size(), m * (m - 1));
  return n * m / (n + m) * (2 * between - first - second);
}

TEST(EnergySplitTest, IsWhatItsDefinitionSays) {
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  const std::vector<double> energies = split_energies(values);
  for (std::size_t k = 2; k + 2 <= values.size(); ++k) {
    EXPECT_NEAR(energies[k], energy_at(values, k), 1e-9) << k;
  }
}

TEST(EnergySplitTest, LeavesEarlierSplitsOut) {
  const std::vector<double> values{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  const std::vector<double> all = split_energies(values);
  const std::vector<double> energies = split_energies(values, 5);
  EXPECT_EQ(energies[4], 0);
  for (std::size_t k = 5; k + 2 <= values.size(); ++k) {
    EXPECT_NEAR(energies[k], all[k], 1e-9) << k;
  }
}

TEST(EnergySplitTest, IsLargestWhereTheLevelChanges) {
  const std::vector<double> values{1, 2, 1, 2, 1, 2, 8, 9, 8, 9};
  const std::vector<double> energies = split_energies(values);
  EXPECT_EQ(std::ranges::max_element(energies) - energies.begin(), 6);
}

TEST(EnergySplitTest, HasNoneForFewValues) {
  EXPECT_TRUE(split_energies({}).empty());
  EXPECT_EQ(split_energies(std::vector<double>{1, 5, 9}), std::vector<double>(3, 0));
}

}  // namespace
}  // namespace chokepoint::trends
