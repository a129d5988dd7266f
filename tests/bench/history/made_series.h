// Series as a cluster's histories hold them, drawn by a seed: what is the noise and where the level
// changes is known. The same seed draws the same series with every library.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <random>
#include <vector>

#include "base/trends/change_points.h"

namespace chokepoint::bench {

class SeriesChance {
 public:
  explicit SeriesChance(std::uint64_t seed) : bits_(seed) {}

  double uniform(double low, double high);
  double log_uniform(double low, double high);
  bool is_one_in(double count) { return uniform(0, count) < 1; }
  double normal();
  double student3();  // with a variance of 1

 private:
  std::mt19937_64 bits_;
};

struct MadeSeries {
  std::vector<trends::HistoryPoint> points;
  std::optional<std::size_t> change_at;  // the first point at the new level
  double change = 0;                     // relative
  double noise = 0;                      // standard deviation of one point, relative
  double rhythm = 0;                     // half of the daily difference, relative
};

struct SeriesWish {
  std::size_t points = 0;
  bool is_hourly = false;  // without gaps and other distances
  bool has_change = false;
};

// Noise of 0.5 to 5 % (of Student's distribution with 3 degrees in a third of the series, skewed in
// a sixth), neighbours that resemble each other in half, lone outliers in half, a daily rhythm in
// half, a drift in half, gaps in half.
MadeSeries made_series(SeriesChance& chance, const SeriesWish& wish);

}  // namespace chokepoint::bench
