// Which processes are the watched job. A value.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace chokepoint::capture::job {

struct Selection {
  pid_t pid = 0;            // it and its descendants; 0: none
  std::string cgroup = {};  // as in /proc/PID/cgroup, or a path below /sys/fs/cgroup; empty: none
  // Who becomes the parent of those that lose their own (see sys::adopt_orphans): its children and
  // theirs are the job's, but for the given ones.
  pid_t adopter = 0;
  std::vector<pid_t> not_the_jobs = {};
};

}  // namespace chokepoint::capture::job
