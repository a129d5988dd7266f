// Of the job's processes, which are ranks, and whose helpers the others are: loaders, compilers.
// One that only waits for its child to end, as a shell does, counts for nothing. A value of one
// moment; the processes outlive it.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>

#include "base/sys/root.h"
#include "capture/job/process.h"

namespace chokepoint::capture::job {

class Kinship {
 public:
  Kinship(const sys::Root& root, const JobProcesses& processes);

  // Without any number of a rank, each process that no other one of the job started.
  bool is_rank(const JobProcess& process) const;
  // nullptr of what is no rank's, as a launcher.
  const JobProcess* rank_of(const JobProcess& process) const;

 private:
  const JobProcess* parent_of(const JobProcess& process) const;

  std::map<pid_t, const JobProcess*> by_pid_;
  std::set<pid_t> shells_;
  bool has_ranks_ = false;
};

}  // namespace chokepoint::capture::job
