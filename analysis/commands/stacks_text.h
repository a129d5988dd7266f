// The stacks of a rank for people, as `record show` prints them. Pure.
#pragma once

#include <string>

#include "base/record/stacks.h"

namespace chokepoint::analysis {

// A line for each thread and, below it, for each of its frames. Fit for a terminal.
std::string stacks_text(const record::Stacks& stacks, const std::string& node);

}  // namespace chokepoint::analysis
