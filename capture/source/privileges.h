// Gives up the privileges that opening an interface needs, and reading packets does not.
#pragma once

#include "base/sys/error.h"

namespace chokepoint::capture::source {

enum class Keep {
  Nothing,
  Files,  // of a process of root: to write into other users' folders
};

// For good, for all later threads of this process. Call it after open_live() and before any thread
// is started: an existing thread that keeps privileges is an error.
Result<> give_up_privileges(Keep keep);

}  // namespace chokepoint::capture::source
