// Whether the kernel lets this program see a process's open files and network namespace. That
// depends on its user, its rights, and whether it may be dumped (ptrace(2), "access mode
// checking"). A function; any thread.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::capture::job {

// Why not, and what helps; nullopt where it does, or there is no such process.
std::optional<Error> hidden_because(pid_t pid, const sys::Root& root);

}  // namespace chokepoint::capture::job
