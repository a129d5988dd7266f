// From findings to the verdict: the largest cause that a change could take away, the runners-up,
// and how sure both are.
#pragma once

#include "analysis/attribution/scene.h"

namespace chokepoint::analysis {

constexpr double kMattersPercent = 5;  // of the step; below it a cause is none

void judge(const DiagnosisInput& input, Findings findings, Diagnosis& diagnosis);

}  // namespace chokepoint::analysis
