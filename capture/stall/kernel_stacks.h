// Where a process's threads are as the kernel says, by /proc/PID/task/TID/{stat,comm,wchan,syscall,
// stack}: what is readable without stopping it. Pure but for what is read.
#pragma once

#include <cstdint>

#include "base/record/stacks.h"
#include "base/sys/root.h"

namespace chokepoint::capture::stall {

// The first thread first, then those that are not idle; how many others there are is in
// `idle_threads`.
record::Stacks kernel_stacks(const sys::Root& root, std::int64_t pid);

// What the kernel's words for one thread are; its state is empty where it has gone.
record::StackThread kernel_thread(const sys::Root& root, std::int64_t pid, std::int64_t thread);

}  // namespace chokepoint::capture::stall
