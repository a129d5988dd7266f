// Starts a thread, or says that the system gives none: a limit on processes or memory that is
// reached fails what needed the thread, it does not end the program. The only place that starts
// threads (the lint `threads` holds it), so that none of them takes signals: those are for the
// thread that handles them. Any thread.
#pragma once

#include <functional>
#include <thread>

#include "base/sys/error.h"

namespace chokepoint::sys {

// `name`: a literal, as top shows it, at most 15 letters. `body` must not throw: nobody would hear
// of it.
Result<std::thread> start_thread(const char* name, std::move_only_function<void()> body);

}  // namespace chokepoint::sys
