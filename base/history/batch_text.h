// A batch as JSON, for a file that keeps it until it can be added. A batch that is read is not
// trusted: invalid rows are left out. Pure; any thread.
#pragma once

#include <string>

#include "base/history/row.h"

namespace chokepoint::history {

std::string text_of(const Batch& batch);
Batch batch_in(const std::string& text);

}  // namespace chokepoint::history
