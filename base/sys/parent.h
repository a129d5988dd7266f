// A child process of this same program that ends with the one that started it, however that one
// goes: what is killed has no time to end its children.
#pragma once

#include <string>
#include <utility>

namespace chokepoint::sys {

// For Spawn::environment. The child ends once the thread that starts it ends, not only the process.
std::pair<std::string, std::string> tie_to_this_process();

// In the child, before any thread: SIGTERM when its parent goes, at once where it has gone already.
// Nothing for what was not tied, nor for what this process starts in its turn.
void end_with_parent();

}  // namespace chokepoint::sys
