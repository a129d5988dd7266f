// What rows are called: by what tells them apart, and no more. Pure functions.
#pragma once

#include <string>

#include "analysis/compare/comparison.h"

namespace chokepoint::analysis {

// Whether all rows have the same of this key, by its number.
bool is_same_everywhere(const Comparison& comparison, std::size_t key);

// A row's value of a key as it is read: folders without what all of them begin with; "–" where the
// row has none.
std::string shown_value(const Comparison& comparison, std::size_t group, std::size_t key);

// Names every row by the values of the keys that differ; by all where there is only one.
void name_groups(Comparison& comparison);

}  // namespace chokepoint::analysis
