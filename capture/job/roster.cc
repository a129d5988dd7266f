#include "capture/job/roster.h"

#include <algorithm>
#include <utility>

#include "capture/job/cgroup.h"

namespace chokepoint::capture::job {

Roster::Roster(sys::Root root, Selection selection, record::Writer* writer)
    : root_(std::move(root)),
      selection_(std::move(selection)),
      writer_(writer),
      kinship_(root_, selection_),
      processes_(std::make_shared<const JobProcesses>()) {}

std::shared_ptr<const JobProcesses> Roster::processes() const {
  const std::scoped_lock lock(mutex_);
  return processes_;
}

void Roster::refresh(std::int64_t now_ns) {
  if (!uptime_lead_ns_) {
    uptime_lead_ns_ = read_uptime_lead(root_, now_ns);
  }
  look_after_members(now_ns);
  admit(find_new(now_ns));
  give_ranks();
  publish();
}

void Roster::look_after_members(std::int64_t now_ns) {
  for (auto entry = members_.begin(); entry != members_.end();) {
    auto& [pid, member] = *entry;
    const std::optional<StatLine> stat = read_stat(root_, pid);
    const bool is_gone = !stat || stat->start_ticks != member.process.start_ticks;
    if (!member.is_over && (is_gone || stat->has_ended())) {
      end(member, stat, now_ns);
    } else if (!member.is_over && update_member(root_, *stat, member)) {
      keep(member, std::nullopt);
    }
    // The selected one stays, because how it ended is told later.
    const bool is_forgotten = is_gone && pid != selection_.pid;
    if (is_forgotten) {
      kinship_.forget(pid);
    }
    entry = is_forgotten ? members_.erase(entry) : std::next(entry);
  }
}

std::vector<pid_t> Roster::find_new(std::int64_t now_ns) {
  if (selection_.cgroup.empty()) {
    return selection_.pid > 0 ? kinship_.find_new() : std::vector<pid_t>{};
  }
  if (!cgroup_) {
    cgroup_ = find_cgroup(root_, selection_.cgroup);
  }
  const auto pids = cgroup_ ? pids_of_cgroup(root_, *cgroup_) : std::nullopt;
  const std::vector<pid_t> inside = pids.value_or(std::vector<pid_t>{});
  // Who left the group is none of the job's any more.
  for (auto entry = members_.begin(); entry != members_.end();) {
    const bool has_left = !std::ranges::binary_search(inside, entry->first);
    if (has_left && !entry->second.is_over) {
      end(entry->second, std::nullopt, now_ns);
    }
    entry = has_left ? members_.erase(entry) : std::next(entry);
  }
  return inside;
}

void Roster::admit(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (members_.contains(pid)) {
      continue;
    }
    const std::optional<StatLine> stat = read_stat(root_, pid);
    if (!stat) {
      kinship_.forget(pid);
      continue;
    }
    if (!stat->has_ended() || pid == selection_.pid) {
      Member& member = members_[pid];
      member = read_member(root_, pid, *stat, *uptime_lead_ns_);
      keep(member, std::nullopt);
    }
  }
}

void Roster::end(Member& member, const std::optional<StatLine>& stat, std::int64_t now_ns) {
  end_member(stat, member);
  keep(member, now_ns);
}

void Roster::note_end(const sys::ExitStatus& status, std::int64_t now_ns) {
  const auto entry = members_.find(selection_.pid);
  if (entry == members_.end() || entry->second.exit_code) {
    return;
  }
  entry->second.is_over = true;
  entry->second.exit_code = status.code;
  keep(entry->second, now_ns);
  publish();
}

// A launcher has its own launcher's variables: nobody is a rank by those once there are nearer
// ones.
void Roster::give_ranks() {
  int nearest = 0;
  for (const auto& [pid, member] : members_) {
    nearest = std::max(nearest, member.rank.nearness);
  }
  for (auto& [pid, member] : members_) {
    const Rank rank = member.rank.nearness == nearest ? member.rank.rank : Rank{};
    if (!member.is_over && rank != member.process.rank) {
      member.process.rank = rank;
      keep(member, std::nullopt);
    }
  }
}

void Roster::keep(Member& member, std::optional<std::int64_t> end_ns) {
  if (writer_ != nullptr) {
    member.process.record_id = writer_->add(row_of(member, end_ns));
  }
}

void Roster::publish() {
  JobProcesses living;
  for (const auto& [pid, member] : members_) {
    if (!member.is_over) {
      living.push_back(member.process);
    }
  }
  auto snapshot = std::make_shared<const JobProcesses>(std::move(living));
  const std::scoped_lock lock(mutex_);
  processes_ = std::move(snapshot);
}

}  // namespace chokepoint::capture::job
