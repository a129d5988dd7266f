#include "probe/latency/rpm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chokepoint::probe::latency {
namespace {

TEST(TrimmedMean, LeavesOutTheLargestTwentieth) {
  std::vector<double> values(19, 10.0);
  values.insert(values.begin(), 1'000'000);
  EXPECT_EQ(trimmed_mean(values), 10);
  EXPECT_EQ(trimmed_mean({4}), 4) << "of one there is none to leave out";
  EXPECT_FALSE(trimmed_mean({}));
}

// The draft: 60000 / ((tcp + tls + http) / 3), 60000 / self, and the mean of both.
TEST(Responsiveness, IsTheMeanOfForeignAndSelf) {
  const Responsiveness is = responsiveness_of(
      {.foreign = {{.tcp_ms = 20, .handshake_ms = 30, .request_ms = 40}},
       .self = {{.took_ms = 120, .path_ms = 50}, {.took_ms = 80, .path_ms = 30}}});
  EXPECT_DOUBLE_EQ(*is.foreign_rpm, 60'000 / 30.0);
  EXPECT_DOUBLE_EQ(*is.self_rpm, 60'000 / 100.0);
  EXPECT_DOUBLE_EQ(*is.rpm, (2000 + 600) / 2.0);
  EXPECT_DOUBLE_EQ(*is.self_path_ms, 40);
  EXPECT_DOUBLE_EQ(*is.self_buffer_ms, 60);
  EXPECT_EQ(is.foreign_probes, 1U);
  EXPECT_EQ(is.self_probes, 2U);
}

TEST(Responsiveness, OfOneKindOfProbesThereIsNone) {
  const Responsiveness foreign = responsiveness_of({.foreign = {{1, 1, 1}}});
  EXPECT_TRUE(foreign.foreign_rpm);
  EXPECT_FALSE(foreign.rpm);
  const Responsiveness self = responsiveness_of({.self = {{.took_ms = 5}}});
  EXPECT_TRUE(self.self_rpm);
  EXPECT_FALSE(self.rpm);
  EXPECT_FALSE(self.self_buffer_ms) << "a kernel that tells no round trip";
}

TEST(Responsiveness, ABufferIsNeverLessThanNothing) {
  EXPECT_EQ(responsiveness_of({.self = {{.took_ms = 5, .path_ms = 7}}}).self_buffer_ms, 0);
}

TEST(Rating, AsTheDraftHasIt) {
  EXPECT_EQ(rating_of(299), "poor");
  EXPECT_EQ(rating_of(300), "fair");
  EXPECT_EQ(rating_of(1000), "good");
  EXPECT_EQ(rating_of(6000), "excellent");
}

TEST(Saturation, FourValuesThatAgree) {
  Saturation steady;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(steady.confidence(), Confidence::Low) << i;
    steady.add(100 + i % 2);
  }
  EXPECT_EQ(steady.confidence(), Confidence::High);
  steady.add(200);
  EXPECT_EQ(steady.confidence(), Confidence::Medium);
}

TEST(Saturation, NotWhileItGrowsNorOfNothing) {
  Saturation growing;
  Saturation nothing;
  for (int i = 0; i < 20; ++i) {
    growing.add(std::pow(1.3, i));
    nothing.add(0);
    EXPECT_FALSE(growing.is_reached());
    EXPECT_FALSE(nothing.is_reached());
  }
}

TEST(MovingAverage, OfFourIntervals) {
  MovingAverage average;
  for (const double value : {1.0, 2.0, 3.0}) {
    EXPECT_FALSE(average.add(value));
  }
  EXPECT_EQ(average.add(6), 3);
  EXPECT_EQ(average.add(9), 5);
}

TEST(Probes, TakeNoMoreThanTheirShareOfThePath) {
  EXPECT_EQ(probes_per_second(1e9), kMaxProbesPerSecond);
  EXPECT_EQ(probes_per_second(0), 0);
  EXPECT_LT(probes_per_second(1e6), 10);
  EXPECT_DOUBLE_EQ(probes_per_second(2e6), 2 * probes_per_second(1e6));
}

}  // namespace
}  // namespace chokepoint::probe::latency
