// Whether a row differs from its baseline by more than noise, and by which test;
// docs/guide/compare.md gives the reasons. Pure functions; any thread.
#pragma once

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

struct NoiseTestTexts {
  const char* name;  // "mann-whitney"
  const char* by;    // "by the ranks of the runs"
};

const NoiseTestTexts& texts_of(NoiseTest test);

// Fills test, p and interval of each row's difference from its baseline, corrects all p together,
// and marks what is beyond noise. Baselines are set.
void test_differences(Comparison& comparison);

}  // namespace chokepoint::analysis
