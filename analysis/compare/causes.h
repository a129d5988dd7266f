// What grew where a row's steps take longer than its baseline's, or shrank where they are shorter.
// Pure.
#pragma once

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

// Accounts that changed the way the step did, the largest first; those that are a small part of the
// difference are left out. Nothing where the step did not change.
std::vector<Cause> causes_of(const Accounting& before, const Accounting& after);

}  // namespace chokepoint::analysis
