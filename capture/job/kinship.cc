#include "capture/job/kinship.h"

#include <fmt/format.h>

namespace chokepoint::capture::job {
namespace {

// A rank that waits for a compiler has more threads than one.
bool is_shell(const sys::Root& root, pid_t pid) {
  const std::string task = fmt::format("/proc/{}/task", pid);
  return root.text(fmt::format("/proc/{}/wchan", pid)).value_or("").starts_with("do_wait") &&
         root.list(task).size() <= 1;
}

}  // namespace

Kinship::Kinship(const sys::Root& root, const JobProcesses& processes) {
  for (const JobProcess& process : processes) {
    by_pid_[process.pid] = &process;
    has_ranks_ = has_ranks_ || process.rank.rank.has_value();
  }
  for (const JobProcess& process : processes) {
    if (by_pid_.contains(process.parent) && is_shell(root, process.parent)) {
      shells_.insert(process.parent);
    }
  }
}

// A helper has its rank's number in its environment, too.
bool Kinship::is_rank(const JobProcess& process) const {
  if (shells_.contains(process.pid)) {
    return false;
  }
  const JobProcess* parent = parent_of(process);
  if (!has_ranks_) {
    return parent == nullptr;
  }
  return process.rank.rank && (parent == nullptr || parent->rank.rank != process.rank.rank);
}

const JobProcess* Kinship::rank_of(const JobProcess& process) const {
  const JobProcess* each = parent_of(process);
  for (std::size_t depth = 0; each != nullptr && depth < by_pid_.size(); ++depth) {
    if (is_rank(*each)) {
      return each;
    }
    each = parent_of(*each);
  }
  return nullptr;
}

// The nearest that is no shell. Numbers are used again, so a chain may lead in a circle.
const JobProcess* Kinship::parent_of(const JobProcess& process) const {
  const JobProcess* each = &process;
  for (std::size_t depth = 0; depth < by_pid_.size(); ++depth) {
    const auto found = by_pid_.find(each->parent);
    if (found == by_pid_.end()) {
      return nullptr;
    }
    each = found->second;
    if (!shells_.contains(each->pid)) {
      return each == &process ? nullptr : each;
    }
  }
  return nullptr;
}

}  // namespace chokepoint::capture::job
