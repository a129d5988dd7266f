// What a server does to its own process before it talks to strangers. Call before any thread.
#pragma once

#include <string>

#include "base/sys/error.h"

namespace chokepoint::probe::serve {

// Becomes this user with its groups, for good; nothing where the name is empty.
Result<> become(const std::string& user);

// As many descriptors as the system lets this process have: every stream is one.
void raise_descriptor_limit();

}  // namespace chokepoint::probe::serve
