// Which test is taken, what is marked, and what is said to have grown.
#include "analysis/compare/compare.h"

#include <gtest/gtest.h>

#include "tests/analysis/compare/made_comparison.h"

namespace chokepoint::analysis {
namespace {

using Values = std::vector<double>;

const Values five{100, 101, 102, 103, 104};
const Values slower{110, 111, 112, 113, 114};

Comparison of_two(const Values& before, const Values& after, const CompareOptions& options = {}) {
  std::vector<ComparedRun> runs;
  add_runs(runs, {{"net", "1"}}, before);
  add_runs(runs, {{"net", "2"}}, after);
  return *compare(std::move(runs), options);
}

Values steps(double ms, std::size_t count) {
  Values values;
  for (std::size_t at = 0; at < count; ++at) {
    values.push_back(ms + static_cast<double>(at % 3));
  }
  return values;
}

TEST(Differences, FiveAndFiveByTheirRanks) {
  const Comparison comparison = of_two(five, slower);
  const Difference& difference = *comparison.groups[1].difference;
  EXPECT_EQ(difference.test, NoiseTest::MannWhitney);
  EXPECT_NEAR(*difference.p, 2.0 / 252, 1e-12);
  EXPECT_NEAR(*difference.change_percent, 9.8, 0.01);
  EXPECT_LT(difference.percent->low, 9.8);
  EXPECT_GT(difference.percent->high, 9.8);
  EXPECT_TRUE(difference.is_beyond_noise);
  EXPECT_EQ(difference.is_worse, true);
}

// A record may say of every step that nothing was done in it.
TEST(Differences, StepsThatTookNoTimeTellNothing) {
  std::vector<ComparedRun> runs;
  for (const char* net : {"1", "2"}) {
    runs.push_back(made_run({{"net", net}}, 100));
    set(runs.back(), Figure::SamplesPerS, 500);
    runs.back().step_ms = Values(20, 0);
  }
  const Comparison comparison = *compare(std::move(runs), {});
  ASSERT_EQ(comparison.metric, Figure::SamplesPerS);
  EXPECT_EQ(comparison.groups[1].difference->why_no_test,
            "one run each: 12 settled steps needed, 0 there");
}

TEST(Differences, TheSameIsNoise) {
  const Comparison comparison = of_two(five, {100.5, 101.5, 102.5, 103.5, 104.5});
  EXPECT_FALSE(comparison.groups[1].difference->is_beyond_noise);
  EXPECT_EQ(comparison.groups[1].difference->is_worse, std::nullopt);
}

TEST(Differences, FasterIsNotWorse) {
  EXPECT_EQ(of_two(slower, five).groups[1].difference->is_worse, false);
}

// Ranks of five and five cannot give 0.05 / 8.
TEST(Differences, AmongManyRowsFiveRunsAreTooFewForRanks) {
  std::vector<ComparedRun> runs;
  for (const char* setup : {"1x1", "1x2", "1x3", "1x4", "1x5", "1x6", "1x7", "1x8", "1x9"}) {
    add_runs(runs, {{"setup", setup}}, std::string(setup) == "1x9" ? slower : five);
  }
  const Comparison comparison = *compare(std::move(runs), {});
  EXPECT_EQ(comparison.groups[1].difference->test, NoiseTest::Welch);
  EXPECT_FALSE(comparison.groups[1].difference->is_beyond_noise);
  EXPECT_TRUE(comparison.groups[8].difference->is_beyond_noise);
  EXPECT_NEAR(*comparison.groups[8].difference->p_corrected,
              *comparison.groups[8].difference->p * 8, 1e-12);
}

TEST(Differences, OneRunAgainstMany) {
  EXPECT_EQ(of_two(five, {130}).groups[1].difference->test, NoiseTest::SingleRun);
  EXPECT_TRUE(of_two(five, {130}).groups[1].difference->is_beyond_noise);
  EXPECT_FALSE(of_two(five, {105}).groups[1].difference->is_beyond_noise);
  EXPECT_TRUE(of_two({130}, five).groups[1].difference->is_beyond_noise);
}

TEST(Differences, OneRunEachByTheirSteps) {
  ComparedRun before = made_run({{"net", "1"}}, 101);
  ComparedRun after = made_run({{"net", "2"}}, 121);
  const auto difference = [&] { return *compare({before, after}, {})->groups[1].difference; };
  EXPECT_EQ(difference().test, std::nullopt);
  EXPECT_NE(difference().why_no_test, "");
  EXPECT_FALSE(difference().is_beyond_noise);
  before.step_ms = steps(100, 40);
  after.step_ms = steps(120, 40);
  EXPECT_EQ(difference().test, NoiseTest::BlocksOfSteps);
  EXPECT_TRUE(difference().is_beyond_noise);
  EXPECT_NEAR(difference().percent->low, 19.8, 1.5);
  after.step_ms = steps(100, 40);
  EXPECT_FALSE(difference().is_beyond_noise);
  after.step_ms = steps(120, 8);
  EXPECT_EQ(difference().test, std::nullopt);
}

// Twice the samples in twice the time is no more throughput; in the same time it is.
TEST(Differences, OneRunEachByTheTimeOfASample) {
  ComparedRun before = made_run({{"batch", "8"}}, 101);
  ComparedRun after = made_run({{"batch", "16"}}, 202);
  before.step_ms = steps(100, 40);
  after.step_ms = before.step_ms;
  for (double& step : after.step_ms) {
    step *= 2;
  }
  set(before, Figure::SamplesPerS, 80);
  set(after, Figure::SamplesPerS, 80);
  EXPECT_FALSE(compare({before, after}, {})->groups[1].difference->is_beyond_noise);
  after.step_ms = before.step_ms;
  set(after, Figure::SamplesPerS, 160);
  const Difference difference = *compare({before, after}, {})->groups[1].difference;
  EXPECT_EQ(difference.is_worse, false);
  EXPECT_NEAR(*difference.change_percent, 100, 1e-9);
  EXPECT_NEAR((difference.percent->low + difference.percent->high) / 2, 100, 2);
}

// Repetitions of one job differ by more than their steps show.
TEST(Differences, OneRunEachAndLittleBetweenThem) {
  ComparedRun before = made_run({{"net", "1"}}, 101);
  ComparedRun after = made_run({{"net", "2"}}, 104);
  before.step_ms = steps(100, 40);
  after.step_ms = steps(103, 40);
  const Comparison comparison = *compare({before, after}, {});
  EXPECT_LT(*comparison.groups[1].difference->p_corrected, 0.05);
  EXPECT_FALSE(comparison.groups[1].difference->is_beyond_noise);
}

TEST(Differences, SmallOnesAreNotMarked) {
  const Values before{100.0, 100.01, 100.02, 100.03, 100.04};
  const Values after{100.5, 100.51, 100.52, 100.53, 100.54};
  EXPECT_FALSE(of_two(before, after).groups[1].difference->is_beyond_noise);
  EXPECT_TRUE(of_two(before, after, {.least_percent = 0.1}).groups[1].difference->is_beyond_noise);
}

TEST(Differences, MoreThroughputIsBetterAndMoreVolumeIsNeither) {
  std::vector<ComparedRun> runs;
  for (int at = 0; at < 10; ++at) {
    runs.push_back(made_run({{"net", at < 5 ? "1" : "2"}}, 100));
    set(runs.back(), Figure::SamplesPerS, (at < 5 ? 50 : 80) + at);
    set(runs.back(), Figure::VolumeBytes, (at < 5 ? 50 : 80) + at);
  }
  // All tell their throughput, so it is what is tested.
  Comparison comparison = *compare(runs, {});
  EXPECT_EQ(comparison.metric, Figure::SamplesPerS);
  EXPECT_EQ(comparison.groups[1].difference->is_worse, false);
  comparison = *compare(runs, {.metric = Figure::VolumeBytes});
  EXPECT_TRUE(comparison.groups[1].difference->is_beyond_noise);
  EXPECT_EQ(comparison.groups[1].difference->is_worse, std::nullopt);
}

TEST(Differences, AFigureThatNobodyTells) {
  const Comparison comparison = of_two(five, slower, {.metric = Figure::DurationS});
  EXPECT_EQ(comparison.groups[1].difference->change_percent, std::nullopt);
  EXPECT_NE(comparison.groups[1].difference->why_no_test, "");
}

TEST(Causes, WhatGrewMostComesFirst) {
  Accounting before;
  before[Account::Compute] = 60;
  before[Account::Link] = 10;
  Accounting after;
  after[Account::Compute] = 66;
  after[Account::Link] = 35;
  after[Account::Loss] = 0.5;
  after[Account::Other] = -1.5;
  const std::vector<AccountChange> causes = causes_of(before, after);
  ASSERT_EQ(causes.size(), 2);
  EXPECT_EQ(causes[0].account, Account::Link);
  EXPECT_NEAR(causes[0].ms_per_step, 25, 1e-12);
  EXPECT_NEAR(causes[0].share_percent, 25 / 0.3, 1e-9);
  EXPECT_EQ(causes[1].account, Account::Compute);
  EXPECT_TRUE(causes_of(before, before).empty());
  // The other way round, what shrank.
  EXPECT_EQ(causes_of(after, before)[0].account, Account::Link);
  EXPECT_NEAR(causes_of(after, before)[0].ms_per_step, -25, 1e-12);
}

// A larger batch takes longer and does more: longer steps are no reason for that.
TEST(Causes, StepsThatWentTheOtherWayExplainNothing) {
  std::vector<ComparedRun> runs;
  for (int at = 0; at < 10; ++at) {
    runs.push_back(made_run({{"batch", at < 5 ? "8" : "64"}}, at < 5 ? 100 : 300));
    set(runs.back(), Figure::SamplesPerS, (at < 5 ? 80 : 213) + at);
  }
  const Comparison comparison = *compare(runs, {});
  EXPECT_EQ(comparison.groups[1].difference->is_worse, false);
  EXPECT_TRUE(comparison.groups[1].difference->causes.empty());
  EXPECT_FALSE(compare(runs, {.metric = Figure::StepMs})->groups[1].difference->causes.empty());
}

}  // namespace
}  // namespace chokepoint::analysis
