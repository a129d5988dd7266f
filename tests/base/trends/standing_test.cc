#include "base/trends/standing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace chokepoint::trends {
namespace {

constexpr std::int64_t kOneDay = std::int64_t{24} * 3'600'000'000'000;
constexpr std::int64_t kFirstDay = 20'000 * kOneDay;

history::Measured measured(int day, double value) {
  return {
      .wall_ns = kFirstDay + day * kOneDay, .value = value, .source = "run" + std::to_string(day)};
}

// Of a step's time, every day, with some noise of 1 %.
history::MeasuredSeries steps(const std::vector<double>& levels) {
  history::MeasuredSeries series{
      .series = {.subject = {.kind = history::SubjectKind::Job, .name = "train.py"},
                 .metric = "step_ms",
                 .unit = "ms",
                 .better = documents::Better::Less}};
  for (int day = 0; day < static_cast<int>(levels.size()); ++day) {
    const double noise = 1 + 0.01 * ((day * 7 + 3) % 11 - 5) / 5;
    series.points.push_back(measured(day, levels[static_cast<std::size_t>(day)] * noise));
  }
  return series;
}

TEST(Standing, AUsualMeasurementIsUsual) {
  const auto standing = standing_of(steps(std::vector(12, 400.0)), measured(12, 404));
  ASSERT_TRUE(standing);
  EXPECT_FALSE(standing->is_unusual);
  EXPECT_NEAR(standing->usual, 400, 4);
  EXPECT_EQ(standing->earlier, 12U);
  EXPECT_NEAR(*standing->relative, 0.01, 0.011);
  EXPECT_GT(standing->p, 0.01);
}

TEST(Standing, ASingleOneThatIsFarOffIsUnusual) {
  const auto slow = standing_of(steps(std::vector(12, 400.0)), measured(12, 480));
  ASSERT_TRUE(slow);
  EXPECT_TRUE(slow->is_unusual && slow->is_worse);
  EXPECT_NEAR(*slow->relative, 0.2, 0.02);
  EXPECT_FALSE(slow->since);
  const auto fast = standing_of(steps(std::vector(12, 400.0)), measured(12, 320));
  EXPECT_TRUE(fast->is_unusual && !fast->is_worse);
}

TEST(Standing, FewEarlierOnesCannotSayWhatIsUsual) {
  const auto standing = standing_of(steps(std::vector(4, 400.0)), measured(4, 480));
  ASSERT_TRUE(standing);
  EXPECT_FALSE(standing->is_unusual);
  EXPECT_EQ(standing->p, 1);
  EXPECT_EQ(standing->earlier, 4U);
  EXPECT_FALSE(standing_of(steps({}), measured(4, 480)));
}

TEST(Standing, ANewLevelHasItsFirstMeasurement) {
  std::vector<double> levels(20, 400.0);
  levels.insert(levels.end(), 8, 480.0);
  const auto standing = standing_of(steps(levels), measured(28, 481));
  ASSERT_TRUE(standing && standing->since);
  EXPECT_TRUE(standing->is_unusual && standing->is_worse);
  EXPECT_NEAR(standing->usual, 400, 4);
  EXPECT_EQ(standing->since->source, "run20");
  EXPECT_EQ(standing->since->count, 9U);
}

TEST(Standing, OfALevelThatBeganLongAgoOnlyThatLevelCounts) {
  std::vector<double> levels(20, 400.0);
  levels.insert(levels.end(), 50, 480.0);
  const auto standing = standing_of(steps(levels), measured(70, 481));
  ASSERT_TRUE(standing);
  EXPECT_FALSE(standing->is_unusual);
  EXPECT_NEAR(standing->usual, 480, 5);
  EXPECT_EQ(standing->earlier, 50U);
}

TEST(Standing, LaterOnesAndItselfDoNotCount) {
  std::vector<double> levels(12, 400.0);
  levels.insert(levels.end(), 12, 300.0);
  const auto standing = standing_of(steps(levels), measured(11, 400));
  ASSERT_TRUE(standing);
  EXPECT_EQ(standing->earlier, 11U);
  EXPECT_FALSE(standing->is_unusual);
}

TEST(Standing, OneOutlierDoesNotWidenWhatIsUsual) {
  std::vector<double> levels(14, 400.0);
  levels[6] = 900;
  EXPECT_TRUE(standing_of(steps(levels), measured(14, 480))->is_unusual);
}

// A thousand draws with normal noise: as many are called unusual as the bound says, at the most.
TEST(Standing, ChanceIsSeldomUnusual) {
  std::mt19937 random(5);
  std::normal_distribution<double> noise(0, 0.05);
  int unusual = 0;
  for (int draw = 0; draw < 1000; ++draw) {
    history::MeasuredSeries series = steps({});
    for (int day = 0; day < 5 + draw % 20; ++day) {
      series.points.push_back(measured(day, 400 * std::exp(noise(random))));
    }
    const auto standing = standing_of(series, measured(30, 400 * std::exp(noise(random))));
    unusual += standing->is_unusual ? 1 : 0;
  }
  EXPECT_LE(unusual, 5);
}

TEST(Standing, ALossWhereNoneWasIsNoShareOfIt) {
  history::MeasuredSeries series = steps(std::vector(12, 0.0));
  const auto standing = standing_of(series, measured(12, 2));
  ASSERT_TRUE(standing);
  EXPECT_FALSE(standing->relative);
}

TEST(Standing, RowsFindTheirSeries) {
  const history::MeasuredSeries series = steps(std::vector(12, 400.0));
  history::Series other = series.series;
  other.metric = "p99_step_ms";
  const std::vector<history::Row> rows{{.series = other, .measured = measured(12, 400)},
                                       {.series = series.series, .measured = measured(12, 480)}};
  const auto standings = standings_of(rows, std::vector{series});
  ASSERT_EQ(standings.size(), 1U);
  EXPECT_EQ(standings.front().value, 480);
}

// As many figures as a preflight of eight hosts has: hardly one such preflight names any.
TEST(Standing, ChanceIsSeldomUnusualAmongMany) {
  constexpr int kFigures = 280;
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.05);
  int named = 0;
  for (int preflight = 0; preflight < 30; ++preflight) {
    std::vector<history::MeasuredSeries> all;
    std::vector<history::Row> rows;
    for (int figure = 0; figure < kFigures; ++figure) {
      history::MeasuredSeries series = steps({});
      series.series.subject.name = std::to_string(figure);
      for (int day = 0; day < 12; ++day) {
        series.points.push_back(measured(day, 400 * std::exp(noise(random))));
      }
      rows.push_back(
          {.series = series.series, .measured = measured(12, 400 * std::exp(noise(random)))});
      all.push_back(std::move(series));
    }
    const auto standings = standings_of(rows, all);
    named += std::ranges::any_of(standings, &Standing::is_unusual) ? 1 : 0;
  }
  EXPECT_LE(named, 1);
}

}  // namespace
}  // namespace chokepoint::trends
