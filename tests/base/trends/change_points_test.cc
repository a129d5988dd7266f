// Series made by hand, whose changes are known. How often changes are found in noise, and how often
// ones that are none: scripts/bench history.
#include "base/trends/change_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/trends/split_fit.h"

namespace chokepoint::trends {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kHourNs = 3'600'000'000'000;

// Noise that is the same every time, between -1 and 1.
double made_noise(std::size_t i) {
  std::uint64_t bits = (i + 1) * 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return static_cast<double>(bits >> 11) / 4503599627370496.0 - 1;
}

struct LevelPart {
  std::size_t points = 0;
  double level = 0;
};

std::vector<HistoryPoint> hourly(const std::vector<LevelPart>& parts, double noise = 0.01) {
  std::vector<HistoryPoint> points;
  for (const LevelPart& part : parts) {
    for (std::size_t i = 0; i < part.points; ++i) {
      const auto at = static_cast<std::int64_t>(points.size());
      points.push_back(
          {.t_ns = at * kHourNs, .value = part.level * (1 + noise * made_noise(points.size()))});
    }
  }
  return points;
}

std::vector<std::size_t> places_of_changes(std::span<const HistoryPoint> points) {
  std::vector<std::size_t> places;
  const auto found = find_changes(points);
  EXPECT_TRUE(found) << describe(found.error());
  for (const LevelChange& change : found->changes) {
    places.push_back(change.index);
  }
  return places;
}

TEST(ChangePointsTest, TooFewPointsHaveNoChange) {
  EXPECT_THAT(places_of_changes({}), IsEmpty());
  EXPECT_THAT(places_of_changes(hourly({{1, 5}})), IsEmpty());
  EXPECT_THAT(places_of_changes(hourly({{1, 5}, {1, 50}})), IsEmpty());
  EXPECT_THAT(places_of_changes(hourly({{40, 5}, {4, 50}})), IsEmpty());
}

TEST(ChangePointsTest, EqualValuesHaveNoChange) {
  EXPECT_THAT(places_of_changes(hourly({{300, 7}}, 0)), IsEmpty());
  EXPECT_THAT(places_of_changes(hourly({{300, 0}}, 0)), IsEmpty());
}

TEST(ChangePointsTest, SaysWhenAndByHowMuch) {
  const auto points = hourly({{60, 100}, {30, 120}});
  const auto found = find_changes(points);
  ASSERT_TRUE(found);
  ASSERT_THAT(found->changes, SizeIs(1));
  const LevelChange& change = found->changes[0];
  EXPECT_EQ(change.index, 60U);
  EXPECT_EQ(change.last_good, 59U);
  EXPECT_EQ(change.first_bad, 60U);
  EXPECT_EQ(change.last_good_ns, 59 * kHourNs);
  EXPECT_EQ(change.first_bad_ns, 60 * kHourNs);
  EXPECT_EQ(change.certain_at, 64U);
  EXPECT_NEAR(*change.relative, 0.2, 0.01);
  EXPECT_LE(change.before.interval.low, 100);
  EXPECT_GE(change.before.interval.high, 100);
  EXPECT_LE(change.after.interval.low, 120);
  EXPECT_GE(change.after.interval.high, 120);
  EXPECT_LT(change.p, 1e-7);
}

TEST(ChangePointsTest, FindsSeveralUpAndDown) {
  EXPECT_THAT(places_of_changes(hourly({{80, 100}, {60, 110}, {60, 95}, {40, 140}})),
              ElementsAre(80, 140, 200));
}

TEST(ChangePointsTest, AnOutlierIsMarkedAndNoChange) {
  auto points = hourly({{100, 100}});
  points[40].value = 300;
  points[70].value = 20;
  points[71].value = 20;
  const auto found = find_changes(points);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->changes, IsEmpty());
  EXPECT_THAT(found->outliers, ElementsAre(40, 70, 71));
}

TEST(ChangePointsTest, TheStartOfANewLevelIsNoOutlier) {
  const auto found = find_changes(hourly({{100, 100}, {50, 130}}));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->changes, SizeIs(1));
  EXPECT_THAT(found->outliers, IsEmpty());
}

TEST(ChangePointsTest, ASlowDriftIsNoChange) {
  auto points = hourly({{700, 100}});
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].value *= 1 + 0.2 * static_cast<double>(i) / 700;
  }
  EXPECT_THAT(places_of_changes(points), IsEmpty());
}

TEST(ChangePointsTest, ADaysRhythmIsNoChangeFromTheFirstDayOn) {
  auto points = hourly({{480, 100}});
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].value *= i % 24 >= 8 && i % 24 < 18 ? 1.1 : 1;
  }
  EXPECT_THAT(places_of_changes(points), IsEmpty());
  for (std::size_t i = 300; i < points.size(); ++i) {
    points[i].value *= 1.05;  // less than the rhythm
  }
  EXPECT_THAT(places_of_changes(points), ElementsAre(300));
}

TEST(ChangePointsTest, RareRunsShowNoRhythm) {
  auto points = hourly({{12, 100}, {8, 110}});
  for (HistoryPoint& point : points) {
    point.t_ns *= 24;
  }
  EXPECT_THAT(places_of_changes(points), ElementsAre(12));
}

TEST(ChangePointsTest, AGapOfWeeksStandsBetweenLastGoodAndFirstBad) {
  auto points = hourly({{60, 100}, {30, 120}});
  constexpr std::int64_t kWeeksNs = 500 * kHourNs;
  for (std::size_t i = 60; i < points.size(); ++i) {
    points[i].t_ns += kWeeksNs;
  }
  const auto found = find_changes(points);
  ASSERT_TRUE(found);
  ASSERT_THAT(found->changes, SizeIs(1));
  EXPECT_EQ(found->changes[0].first_bad_ns - found->changes[0].last_good_ns, kWeeksNs + kHourNs);
}

TEST(ChangePointsTest, OneMomentIsNeverDivided) {
  auto points = hourly({{58, 100}, {32, 120}});
  for (std::size_t i = 55; i < 61; ++i) {
    points[i].t_ns = points[60].t_ns;
  }
  const auto found = find_changes(points);
  ASSERT_TRUE(found);
  ASSERT_THAT(found->changes, SizeIs(1));
  EXPECT_LT(found->changes[0].last_good_ns, found->changes[0].first_bad_ns);
}

TEST(ChangePointsTest, KnowsLevelsOfZeroBelowZeroAndHugeOnes) {
  const auto zero = find_changes(hourly({{60, 0}, {30, 5}}));
  ASSERT_TRUE(zero);
  ASSERT_THAT(zero->changes, SizeIs(1));
  EXPECT_EQ(zero->changes[0].index, 60U);
  EXPECT_FALSE(zero->changes[0].relative);
  EXPECT_THAT(places_of_changes(hourly({{60, -100}, {30, -130}})), ElementsAre(60));
  EXPECT_THAT(places_of_changes(hourly({{60, 1e300}, {30, 1.5e308}})), ElementsAre(60));
  EXPECT_THAT(places_of_changes(hourly({{60, -1e308}, {30, 1.5e308}})), ElementsAre(60));
  EXPECT_THAT(places_of_changes(hourly({{60, 1e-300}, {30, 2e-300}})), ElementsAre(60));
}

TEST(ChangePointsTest, APointsOwnErrorCountsAsNoise) {
  auto points = hourly({{60, 100}, {8, 110}});
  EXPECT_THAT(places_of_changes(points), SizeIs(1));
  for (HistoryPoint& point : points) {
    point.spread = 60;
    point.count = 9;  // a standard error of 20
  }
  EXPECT_THAT(places_of_changes(points), IsEmpty());
}

TEST(ChangePointsTest, RefusesWhatIsNoNumberAndWhatIsOlder) {
  ChangeTracker tracker;
  ASSERT_TRUE(tracker.add({.t_ns = 10, .value = 1}));
  EXPECT_FALSE(tracker.add({.t_ns = 11, .value = std::nan("")}));
  EXPECT_FALSE(tracker.add({.t_ns = 11, .value = std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(tracker.add({.t_ns = 11, .value = 1, .spread = -1}));
  EXPECT_FALSE(tracker.add({.t_ns = 9, .value = 1}));
  EXPECT_TRUE(tracker.add({.t_ns = 10, .value = 1}));
}

TEST(ChangePointsTest, OnePointMoreTakesMilliseconds) {
  const auto points = hourly({{4000, 100}, {3000, 110}, {3100, 100}});
  ChangeTracker tracker;
  for (const HistoryPoint& point : std::span(points).first(10'000)) {
    ASSERT_TRUE(tracker.add(point));
  }
  const auto began = std::chrono::steady_clock::now();
  for (const HistoryPoint& point : std::span(points).subspan(10'000)) {
    ASSERT_TRUE(tracker.add(point));
  }
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_LT(took / 100, std::chrono::milliseconds(50)) << "2 ms where the machine is idle";
  EXPECT_THAT(tracker.found().changes, SizeIs(2));
}

// What a tracker said earlier stays, but for the place of a change that is still refined.
TEST(ChangePointsTest, TheNewestPointChangesNothingLongPast) {
  const auto points = hourly({{80, 100}, {60, 110}, {60, 95}});
  const auto all = find_changes(points);
  const auto some = find_changes(std::span(points).first(130));
  ASSERT_TRUE(all && some);
  ASSERT_THAT(some->changes, SizeIs(1));
  EXPECT_EQ(all->changes[0].index, some->changes[0].index);
  EXPECT_EQ(all->changes[0].p, some->changes[0].p);
}

// Of old rows one a day may be left.
TEST(ChangePointsTest, RareRowsBeforeFrequentOnesAreNoChange) {
  for (std::size_t series = 0; series < 200; ++series) {
    std::vector<HistoryPoint> points;
    std::size_t draws = series * 1000;
    for (std::int64_t day = 0; day < 90; ++day) {
      points.push_back(
          {.t_ns = (day * 24 + 12) * kHourNs, .value = 100 * (1 + 0.05 * made_noise(draws++))});
    }
    for (std::int64_t hour = 90 * 24; hour < 97 * 24; ++hour) {
      points.push_back({.t_ns = hour * kHourNs, .value = 100 * (1 + 0.05 * made_noise(draws++))});
    }
    EXPECT_THAT(places_of_changes(points), IsEmpty()) << series;
  }
}

// As much as level_before() has: the rest of a long history need not be read.
TEST(ChangePointsTest, WhatCameLongBeforeChangesNothing) {
  constexpr std::size_t kRead = 300;
  for (const auto& parts : {std::vector<LevelPart>{{900, 100}, {60, 90}},
                            {{500, 100}, {350, 80}, {60, 90}},
                            {{800, 100}, {100, 80}, {60, 90}},
                            {{960, 100}}}) {
    const std::vector<HistoryPoint> whole = hourly(parts, 0.04);
    const std::size_t since = 880;
    const auto late = [&](std::size_t from) {
      std::vector<std::tuple<std::size_t, std::int64_t, std::int64_t, double, double>> found;
      const auto changes = find_changes(std::span(whole).subspan(from));
      for (const LevelChange& each : changes->changes) {
        if (from + each.index >= since) {
          found.emplace_back(from + each.index, each.last_good_ns, each.first_bad_ns,
                             each.before.median, each.after.median);
        }
      }
      return found;
    };
    EXPECT_EQ(late(since - kRead), late(0));
  }
}

TEST(SplitFitTest, NoiseOfMeansIsLargerWhereNeighboursResembleEachOther) {
  std::vector<double> independent;
  std::vector<double> alike;
  for (std::size_t i = 0; i < 200; ++i) {
    independent.push_back(made_noise(i));
    alike.push_back(made_noise(i / 5));
  }
  EXPECT_LT(fit_split(independent, 100, 0).inflation, 2);
  EXPECT_GT(fit_split(alike, 100, 0).inflation, 3);
}

TEST(SplitFitTest, SpikesGoAndEdgesStay) {
  const std::vector<double> values{1, 1, 9, 1, 1, 1, 5, 5, 5, 5};
  EXPECT_THAT(without_spikes(values, 1), ElementsAre(1, 1, 1, 1, 1, 1, 5, 5, 5, 5));
}

}  // namespace
}  // namespace chokepoint::trends
