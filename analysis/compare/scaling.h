// Scaling factors of rows: S = T_n / (n · T_1) of their mean sample throughputs. Pure.
#pragma once

#include "analysis/compare/grouping.h"

namespace chokepoint::analysis {

// Fills each row's factor and reference. T_1 is the row with one GPU that is otherwise the same;
// where there is none, what stands for it is the baseline, if a condition for one was given.
void fill_scaling(Comparison& comparison, const std::optional<Condition>& baseline);

}  // namespace chokepoint::analysis
