#include "capture/job/kinship.h"

#include <algorithm>
#include <optional>

#include "capture/job/stat_line.h"

namespace chokepoint::capture::job {

Kinship::Kinship(sys::Root root, Selection selection)
    : root_(std::move(root)), selection_(std::move(selection)) {}

// A number is given away a moment before its process can be seen: hence one more look.
bool Kinship::may_have_new() {
  const std::string loads = root_.text("/proc/loadavg").value_or("");
  const std::string last_pid = loads.substr(loads.rfind(' ') + 1);
  const bool is_quiet = !last_pid.empty() && last_pid == last_pid_;
  const bool looks = !is_quiet || looks_again_;
  looks_again_ = !is_quiet;
  last_pid_ = last_pid;
  return looks;
}

void Kinship::forget_all_but(const std::vector<pid_t>& pids) {
  std::erase_if(known_,
                [&](const auto& entry) { return !std::ranges::binary_search(pids, entry.first); });
}

Kinship::Parents Kinship::parents_of_new() {
  const std::vector<pid_t> pids = pids_below(root_, "/proc");
  forget_all_but(pids);
  Parents parents;
  for (const pid_t pid : pids) {
    if (known_.contains(pid)) {
      continue;
    }
    if (const std::optional<StatLine> stat = read_stat(root_, pid)) {
      parents[pid] = stat->parent;
    }
  }
  return parents;
}

bool Kinship::is_excepted(pid_t pid) const {
  return pid == selection_.adopter ||
         std::ranges::find(selection_.not_the_jobs, pid) != selection_.not_the_jobs.end();
}

std::optional<Kinship::Known> Kinship::judge(pid_t pid, pid_t parent) const {
  if (is_excepted(pid) || parent == 0) {
    return Known::Stranger;
  }
  if (pid == selection_.pid || (selection_.adopter > 0 && parent == selection_.adopter)) {
    return Known::Ours;
  }
  const auto known = known_.find(parent);
  return known == known_.end() ? std::nullopt : std::optional(known->second);
}

std::vector<pid_t> Kinship::find_new() {
  std::vector<pid_t> found;
  if (!may_have_new()) {
    return found;
  }
  Parents parents = parents_of_new();
  for (std::size_t before = parents.size() + 1; parents.size() < before;) {
    before = parents.size();
    std::erase_if(parents, [&](const auto& entry) {
      const std::optional<Known> kind = judge(entry.first, entry.second);
      if (kind) {
        known_[entry.first] = *kind;
      }
      if (kind == Known::Ours) {
        found.push_back(entry.first);
      }
      return kind.has_value();
    });
  }
  // Their parents ended before we looked, and they have others now.
  looks_again_ = looks_again_ || !parents.empty();
  return found;
}

}  // namespace chokepoint::capture::job
