// Which of a record's sessions is the one that its reader asks about. Borrowed from the list given.
#pragma once

#include <vector>

#include "base/record/entities.h"

namespace chokepoint::analysis {

// The last that watched a job; where none did, the last. Null where there is none.
const record::Session* main_session(const std::vector<record::Session>& sessions);

}  // namespace chokepoint::analysis
