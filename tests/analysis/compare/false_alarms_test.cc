// Of comparisons in which nothing differs, how many have a mark: 5 % at most, as
// docs/guide/compare.md promises, however many rows and runs there are. The draws are the same
// wherever this runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/analysis/compare/made_comparison.h"

namespace chokepoint::analysis {
namespace {

constexpr int kDraws = 600;

class Chance {
 public:
  double normal() {
    double sum = -6;
    for (int at = 0; at < 12; ++at) {
      sum += static_cast<double>(engine_() >> 11) * 0x1.0p-53;
    }
    return sum;
  }

 private:
  std::mt19937_64 engine_{7};
};

// Rows of so many runs, all of the same job.
double share_with_marks(const std::vector<int>& runs_of_rows) {
  Chance chance;
  int marked = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<ComparedRun> runs;
    for (std::size_t row = 0; row < runs_of_rows.size(); ++row) {
      for (int run = 0; run < runs_of_rows[row]; ++run) {
        runs.push_back(made_run({{"row", std::to_string(row)}}, 100 + 4 * chance.normal()));
      }
    }
    const Comparison comparison = *compare(std::move(runs), {.least_percent = 0});
    marked += std::ranges::any_of(comparison.groups, [](const Group& group) {
      return group.difference && group.difference->is_beyond_noise;
    });
  }
  return static_cast<double>(marked) / kDraws;
}

// 5 % of 600 draws vary by 0.9 %: none of these is more than 2.5 of that above it.
constexpr double kMost = 0.0725;

TEST(FalseAlarmsOfCompare, TwoRowsOfFive) { EXPECT_LE(share_with_marks({5, 5}), kMost); }
TEST(FalseAlarmsOfCompare, TwoRowsOfThree) { EXPECT_LE(share_with_marks({3, 3}), kMost); }
TEST(FalseAlarmsOfCompare, TwoRowsOfTwo) { EXPECT_LE(share_with_marks({2, 2}), kMost); }
TEST(FalseAlarmsOfCompare, OneNewRun) { EXPECT_LE(share_with_marks({5, 1}), kMost); }
TEST(FalseAlarmsOfCompare, TenRowsOfFive) {
  EXPECT_LE(share_with_marks({5, 5, 5, 5, 5, 5, 5, 5, 5, 5}), kMost);
}
TEST(FalseAlarmsOfCompare, RowsOfAllSizes) { EXPECT_LE(share_with_marks({5, 2, 1, 8, 3}), kMost); }

// And what differs is found: 10 % where runs vary by 4 %, in most draws of five and five.
TEST(FalseAlarmsOfCompare, WhatDiffersIsFound) {
  Chance chance;
  int found = 0;
  constexpr int kFew = 200;
  for (int draw = 0; draw < kFew; ++draw) {
    std::vector<ComparedRun> runs;
    for (int run = 0; run < 10; ++run) {
      runs.push_back(
          made_run({{"row", run < 5 ? "1" : "2"}}, (run < 5 ? 100 : 110) + 4 * chance.normal()));
    }
    const Comparison comparison = *compare(std::move(runs), {});
    found += comparison.groups[1].difference->is_worse.value_or(false) ? 1 : 0;
  }
  EXPECT_GE(found, kFew * 8 / 10);
}

}  // namespace
}  // namespace chokepoint::analysis
