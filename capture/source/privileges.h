// Rights that opening an interface needs, and reading packets does not.
#pragma once

#include "base/sys/error.h"

namespace chokepoint::capture::source {

enum class Keep {
  Nothing,
  Files,  // of a process of root's: to write into folders of others
};

// For good, of every thread of this process. Call it after open_live() and before any thread is
// started: a thread that is there already and keeps rights is an error.
Result<> give_up_privileges(Keep keep);

}  // namespace chokepoint::capture::source
