// What people call a collective. Pure.
#pragma once

#include "base/record/samples.h"

namespace chokepoint::analysis {

const char* name_of(record::CollectiveKind kind);  // "all-reduce"

}  // namespace chokepoint::analysis
