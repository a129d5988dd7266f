#include "analysis/report/tracks.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace chokepoint::analysis {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
const Edges by_seconds = {0, kSecondNs, 2 * kSecondNs, 4 * kSecondNs};

TEST(Binned, SumsBelongToTheBinInWhichTheirSpanEnds) {
  const std::vector<Point> rows = {
      {kSecondNs, 10}, {kSecondNs + 1, 5}, {4 * kSecondNs, 6}, {5 * kSecondNs, 100}, {0, 100}};
  EXPECT_THAT(rate_of_sums(rows, by_seconds), ElementsAre(10, 5, 3));
  EXPECT_THAT(rate_of_sums({}, by_seconds), ElementsAre(IsNan(), IsNan(), IsNan()));
  EXPECT_TRUE(rate_of_sums(rows, {}).empty());
}

TEST(Binned, WhatOnlyGrowsIsAStraightLineBetweenReadings) {
  const std::vector<Point> readings = {{kSecondNs / 2, 100}, {3 * kSecondNs / 2, 200}};
  EXPECT_THAT(rate_of_counts(readings, by_seconds),
              ElementsAre(DoubleEq(50), DoubleEq(50), IsNan()));
  EXPECT_THAT(rate_of_counts(std::span(readings).first(1), by_seconds),
              ElementsAre(IsNan(), IsNan(), IsNan()));
}

TEST(Binned, MeansAreOfTheReadingsInABin) {
  const std::vector<Point> readings = {{1, 10}, {2, 20}, {3 * kSecondNs, 7}};
  EXPECT_THAT(mean_of(readings, by_seconds), ElementsAre(15, IsNan(), 7));
}

TEST(Binned, CountersAndLevelsOfASeries) {
  const SeriesData counter{
      .readings = {{.t_ns = 0, .value = 0}, {.t_ns = 4 * kSecondNs, .value = 8}}};
  EXPECT_THAT(rate_of(counter, by_seconds), ElementsAre(2, 2, 2));
  const SeriesData level{.readings = {{.t_ns = kSecondNs, .value = 3}}};
  EXPECT_THAT(level_of(level, by_seconds), ElementsAre(3, 3, 3));
  EXPECT_THAT(rate_of(SeriesData{}, by_seconds), ElementsAre(IsNan(), IsNan(), IsNan()));
}

TEST(Binned, WhatIsUnknownTakesTheOthersWord) {
  const Values some = {1, kUnknown, kUnknown};
  const Values other = {10, 20, kUnknown};
  EXPECT_THAT(either(some, other), ElementsAre(1, 20, IsNan()));
  EXPECT_THAT(sum_of(some, other), ElementsAre(11, 20, IsNan()));
  EXPECT_THAT(most_of(some, other), ElementsAre(10, 20, IsNan()));
  EXPECT_THAT(times(other, 2), ElementsAre(20, 40, IsNan()));
  EXPECT_TRUE(is_any_known(some));
  EXPECT_FALSE(is_any_known(unknown_values(by_seconds)));
}

TEST(Binned, OutsideOfWhatIsKnownNothingIs) {
  const std::vector<Span> known = {{0, kSecondNs}, {3 * kSecondNs, 4 * kSecondNs}};
  EXPECT_THAT(inside(by_seconds, known, {1, 2, 3}), ElementsAre(1, IsNan(), 3));
}

}  // namespace
}  // namespace chokepoint::analysis
