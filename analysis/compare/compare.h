// Runs beside each other: rows, their differences, and which of these are beyond noise.
#pragma once

#include "analysis/compare/comparison.h"
#include "analysis/compare/grouping.h"

namespace chokepoint::analysis {

// Puts runs side by side: rows, figures, scaling, differences. Pure: the same runs give the same
// comparison. Any thread.

struct CompareOptions {
  std::vector<std::string> keys = {};  // empty: usual_keys()
  std::optional<Condition> baseline = {};
  std::optional<Figure> metric = {};  // empty: throughput if all runs have it, else the step
  double least_percent = 1;
  std::string sort = {};  // empty: by the keys
  bool is_reversed = false;
  bool by_folder = false;  // folders make rows, whatever usual_keys() says
};

// Needs at least one run. An Error if a key, a baseline or an order is asked for that no run has.
Result<Comparison> compare(std::vector<ComparedRun> runs, const CompareOptions& options);

// Why a row's steps take longer, or shorter, than its baseline's: the accounts that changed the way
// the step did, the largest first, without those that are a small part of the difference. Empty if
// the step did not change.
std::vector<AccountChange> causes_of(const Accounting& before, const Accounting& after);

// Fills each row's scaling factor S = T_n / (n · T_1), of mean sample throughputs, and its
// reference. T_1 is the row with one GPU that is otherwise the same; if there is none, the
// baseline, if a condition for one was given.
void fill_scaling(Comparison& comparison, const std::optional<Condition>& baseline);

// Whether a row differs from its baseline by more than noise, and by which test;
// docs/guide/compare.md gives the reasons. Pure functions; any thread.

const char* words_of(NoiseTest test);  // "by the ranks of the runs"

// Fills test, p and interval of each row's difference from its baseline, corrects all p together,
// and marks what is beyond noise. Baselines are set.
void test_differences(Comparison& comparison);

}  // namespace chokepoint::analysis
