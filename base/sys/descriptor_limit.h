// How many files and connections this process may have open. Call before any thread.
#pragma once

#include <cstddef>

#include "base/sys/error.h"

namespace chokepoint::sys {

// As many as the system lets this process have.
void raise_descriptor_limit();

// The same, for work of which it is known how many it takes, beside what any process has open:
// Exhausted where the system does not let it have them.
Result<> want_descriptors(std::size_t count);

}  // namespace chokepoint::sys
