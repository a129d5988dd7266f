// The processes of a cgroup and of those below it, of version 1 and 2. Reads under the given root;
// any thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::capture::job {

// Where a cgroup's files are. It may be given as a line or the path of /proc/PID/cgroup
// ("0::/a/b", "4:memory:/a/b", "/a/b"), or as a path in /sys/fs/cgroup, with or without that.
// Nothing where there is none of that name.
std::optional<std::string> find_cgroup(const sys::Root& root, const std::string& name);

// Rising, each once; nothing where the folder is gone.
std::optional<std::vector<pid_t>> pids_of_cgroup(const sys::Root& root, const std::string& folder);

}  // namespace chokepoint::capture::job
