// Who descends from a process: found by looking at each process of the host once, when it is new.
// Whether there are new ones at all is told by the last pid that the kernel gave away, so that a
// look at a quiet host is one short file. One thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/sys/root.h"
#include "capture/job/selection.h"

namespace chokepoint::capture::job {

class Kinship {
 public:
  Kinship(sys::Root root, Selection selection);

  // Those of the job that were not told before.
  std::vector<pid_t> find_new();
  // It has ended, and its number may come again.
  void forget(pid_t pid) { known_.erase(pid); }

 private:
  enum class Known { Stranger, Ours };
  using Parents = std::map<pid_t, pid_t>;

  bool may_have_new();
  Parents parents_of_new();
  void forget_all_but(const std::vector<pid_t>& pids);
  // Nothing where the parent is not known yet.
  std::optional<Known> judge(pid_t pid, pid_t parent) const;
  bool is_excepted(pid_t pid) const;

  sys::Root root_;
  Selection selection_;
  std::map<pid_t, Known> known_;
  std::string last_pid_ = {};
  bool looks_again_ = true;
};

}  // namespace chokepoint::capture::job
