// Independent pieces of work on several threads, the caller's among them.
#pragma once

#include <cstddef>
#include <functional>

namespace chokepoint::sys {

// Calls `work` once with each number below `count`, each on one of at most `most_threads` threads,
// no more than there are cores; returns when all are done. `name` as of start_thread(); where no
// thread can be started the caller's does everything. `work` must not throw.
void for_each_in_parallel(const char* name, std::size_t count,
                          const std::function<void(std::size_t)>& work,
                          std::size_t most_threads = 64);

}  // namespace chokepoint::sys
