// How many files and connections this process may have open. Call before any thread.
#pragma once

namespace chokepoint::sys {

// As many as the system lets this process have.
void raise_descriptor_limit();

}  // namespace chokepoint::sys
