// A thread that takes no signals: those are for the threads that handle them.
#pragma once

#include <functional>
#include <thread>

namespace chokepoint::record {

// Not joinable where the system gives no more threads.
// `name`: as top shows it, at most 15 letters.
std::thread quiet_thread(const char* name, std::function<void()> body);

}  // namespace chokepoint::record
