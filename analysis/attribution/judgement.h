// From findings to the verdict, with its confidence and the advice that belongs to it.
#pragma once

#include "analysis/attribution/findings.h"

namespace chokepoint::analysis {

inline constexpr double kMattersPercent = 5;  // of the step; a smaller cause is not reported

// The largest cause that a change could take away, the runners-up, and the confidence in both.
void judge(const DiagnosisInput& input, Findings findings, Diagnosis& diagnosis);
// Between what a verdict may cost at least and at most.
void add_interval(double step_ms, Verdict& verdict);
// What to change, with the command to type, and what would show that the verdict is wrong.
void advise(const DiagnosisInput& input, Verdict& verdict);

}  // namespace chokepoint::analysis
