// Starts a thread, or returns an error where the system gives none: where a limit on processes or
// memory is reached, what needed the thread fails; the program goes on. What serves peers starts
// its threads here (tests/lint/peers.py). They take no signals: those are for the thread that
// handles them. Any thread may call it.
#pragma once

#include <functional>
#include <thread>

#include "base/sys/error.h"

namespace chokepoint::sys {

// `name`: a literal, as top shows it, at most 15 letters. `body` must not throw: nobody would hear
// of it.
Result<std::thread> start_thread(const char* name, std::move_only_function<void()> body);

}  // namespace chokepoint::sys
