// Whether the kernel lets this program see what a process has open and which network it is in: who
// it belongs to, what rights it has, whether it may be dumped (ptrace(2), "access mode checking").
// A function; any thread.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::capture::job {

// Why not, and what helps; nullopt where it does, or there is no such process.
std::optional<Error> hidden_because(pid_t pid, const sys::Root& root);

}  // namespace chokepoint::capture::job
