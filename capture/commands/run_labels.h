// --label key=value. Pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::capture {

// The last one of a key counts.
Result<std::map<std::string, std::string>> labels_of(const std::vector<std::string>& words);

}  // namespace chokepoint::capture
