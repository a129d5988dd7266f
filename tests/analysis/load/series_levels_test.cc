#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {
namespace {

TEST(Growth, GoesByStraightLinesAndHoldsAtBothEnds) {
  const SeriesData series{.readings = {{.t_ns = 100, .value = 10}, {.t_ns = 200, .value = 30}}};
  EXPECT_EQ(growth(series, {100, 200}), 20);
  EXPECT_EQ(growth(series, {125, 150}), 5);
  EXPECT_EQ(growth(series, {0, 150}), 10);
  EXPECT_EQ(growth(series, {150, 900}), 10);
  EXPECT_EQ(growth(series, {300, 900}), 0);
  EXPECT_FALSE(growth(SeriesData(), {0, 1}));
}

TEST(Level, HoldsUntilTheNextReading) {
  const SeriesData series{
      .readings = {{.t_ns = 100, .value = 10, .peak = 10}, {.t_ns = 200, .value = 30, .peak = 30}}};
  EXPECT_EQ(mean_level(series, {100, 200}), 10);
  EXPECT_EQ(mean_level(series, {150, 250}), 20);
  EXPECT_EQ(mean_level(series, {500, 600}), 30);
  EXPECT_EQ(mean_level(series, {120, 120}), 10);
  EXPECT_FALSE(mean_level(series, {0, 50}));
  EXPECT_EQ(most_level(series, {120, 180}), 10);
  EXPECT_EQ(most_level(series, {120, 280}), 30);
  EXPECT_FALSE(most_level(series, {0, 50}));
}

TEST(Share, StandsForItsOwnSpanAlone) {
  const SeriesData series{.readings = {{.t_ns = 100, .bin_ns = 100, .value = 10, .peak = 50},
                                       {.t_ns = 200, .bin_ns = 100, .value = 30, .peak = 40},
                                       {.t_ns = 400, .bin_ns = 100, .value = 90, .peak = 90}}};
  EXPECT_EQ(mean_level(series, {0, 200}), 20);
  EXPECT_EQ(mean_level(series, {50, 100}), 10);
  EXPECT_EQ(mean_level(series, {150, 300}), 30);
  EXPECT_FALSE(mean_level(series, {220, 280}));
  EXPECT_EQ(most_level(series, {0, 200}), 50);
  EXPECT_EQ(most_level(series, {100, 200}), 40);
}

}  // namespace
}  // namespace chokepoint::analysis
