// The last way to start a job: this process becomes it. Where memory, descriptors or processes are
// so short that nothing can accompany the job, it still runs, with the output, signals and status
// that it would have had alone.
#pragma once

#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::capture::job {

// Returns only where the command cannot be run: why. What this process had begun for the watch ends
// with its descriptors, which exec() closes. Only from a process with one thread, whose signal mask
// and dispositions are again those with which it was started.
Error become(const std::vector<std::string>& command);

}  // namespace chokepoint::capture::job
