// What the tests of a verdict measured, compared with it: which of them support it and which
// contradict it, in words, and how its confidence changes. Pure; any thread.
#pragma once

#include <span>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis::confirm {

// The result of a test that is not planned for this verdict supports nothing. `results` may come
// from an untrusted file.
Confirmation judge(const Verdict& verdict, std::span<const PlannedTest> plan,
                   std::vector<TestResult> results, bool is_wan);

// Of a verdict with this confidence, after its tests.
double confidence_after(Confirmation::State state, double confidence);

// Gives the diagnosis its confirmation: the verdict's confidence follows it, and what was measured
// is evidence.
void apply(Confirmation confirmation, Diagnosis& diagnosis);

}  // namespace chokepoint::analysis::confirm
