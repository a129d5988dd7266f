// What a server may do, given up before it talks to strangers. Call before any thread.
#pragma once

#include <string>

#include "base/sys/error.h"

namespace chokepoint::probe::serve {

// Becomes this user with its groups, for good; nothing where the name is empty.
Result<> become(const std::string& user);

}  // namespace chokepoint::probe::serve
