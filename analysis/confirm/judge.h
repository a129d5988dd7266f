// What the tests of a verdict measured, held against it: which of them speak for it and which
// against, in words, and what becomes of its confidence. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis::confirm {

// The result of a test that is not planned for this verdict says nothing. `results` may come from a
// file that anybody wrote.
Confirmation judge(const Verdict& verdict, std::span<const PlannedTest> plan,
                   std::vector<TestResult> results, bool is_wan);

// Of a verdict with this confidence, after its tests.
double confidence_after(Confirmation::State state, double confidence);

// Gives the diagnosis its confirmation: the verdict's confidence follows it, and what was measured
// is evidence.
void apply(Confirmation confirmation, Diagnosis& diagnosis);

}  // namespace chokepoint::analysis::confirm
