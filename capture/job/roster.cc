#include "capture/job/roster.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/host/process.h"
#include "base/record/schema.h"
#include "base/record/secrets.h"
#include "capture/job/output.h"

namespace chokepoint::capture::job {
namespace {

constexpr std::size_t kMaxCommandBytes = 512;
constexpr std::int64_t kSecondNs = 1'000'000'000;
// Resolution of /proc/uptime (10 ms) and the time between reading it and the clock.
constexpr std::int64_t kMaxSameClockNs = 100'000'000;

std::string path_of(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string cut(std::string text) {
  if (text.size() <= kMaxCommandBytes) {
    return text;
  }
  std::size_t end = kMaxCommandBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "…";
}

// Empty of a process without one.
std::string read_command(const sys::Root& root, pid_t pid, bool keeps_secrets) {
  const std::string line = root.read(path_of(pid, "cmdline")).value_or("");
  std::vector<std::string> words;
  std::string_view rest = std::string_view(line).substr(0, 4 * kMaxCommandBytes);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    words.emplace_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return cut(record::shell_line(keeps_secrets ? words : record::masked(words)));
}

bool is_same_program(const StatLine& one, const StatLine& other) {
  return one.name == other.name && one.stack == other.stack && one.arguments == other.arguments &&
         one.arguments_end == other.arguments_end && one.environment == other.environment &&
         one.environment_end == other.environment_end;
}

// In the middle of an exec() and of its own end a process has neither command line nor environment:
// what was known of it stands.
void read_program(const sys::Root& root, Member& member) {
  const pid_t pid = member.process.pid;
  std::string command = read_command(root, pid, member.keeps_secrets);
  member.lacks_command_line = command.empty();
  if (member.lacks_command_line && !member.process.command.empty()) {
    return;
  }
  member.process.command = command.empty() ? "[" + member.stat.name + "]" : std::move(command);
  member.process.network = network_at(root, path_of(pid, "ns/net"));
  member.process.own_pid = own_pid_of(root, pid);
  member.rank = host::find_rank(root.read(path_of(pid, "environ")).value_or(""));
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

record::Figure figure(const std::optional<int>& number) {
  return number ? record::Figure(*number) : record::Figure();
}

// `uptime_lead_ns`: how far the time since boot, in which the kernel gives start times, is ahead of
// the monotonic clock.
Member read_member(const sys::Root& root, pid_t pid, const StatLine& stat,
                   std::int64_t uptime_lead_ns, bool keeps_secrets) {
  Member member{.stat = stat, .keeps_secrets = keeps_secrets};
  const auto hertz = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  member.process.pid = pid;
  member.process.parent = stat.parent;
  member.process.start_ticks = stat.start_ticks;
  member.process.start_ns =
      static_cast<std::int64_t>(stat.start_ticks * (kSecondNs / hertz)) - uptime_lead_ns;
  read_program(root, member);
  return member;
}

// True if anything changed.
bool update_member(const sys::Root& root, const StatLine& stat, Member& member) {
  const bool is_same = is_same_program(stat, member.stat);
  const bool same_parent = stat.parent == member.process.parent;
  member.stat = stat;
  member.process.parent = stat.parent;
  // After an exec() it may look as it did before.
  const bool lacked_command_line = member.lacks_command_line;
  if (!is_same || lacked_command_line) {
    read_program(root, member);
  }
  return !is_same || !same_parent || (lacked_command_line && !member.lacks_command_line);
}

// `stat` is nullopt or another process's if the process is gone. Keeps the exit code if the kernel
// reports it.
void end_member(const std::optional<StatLine>& stat, Member& member) {
  member.is_over = true;
  // The kernel reports the wait status only to those who may also read the stack's address.
  const bool is_known = stat && stat->has_ended() && member.stat.stack != 0 &&
                        stat->start_ticks == member.process.start_ticks;
  if (is_known) {
    member.exit_code = exit_code_of(stat->wait_status);
  }
}

std::int64_t read_uptime_lead(const sys::Root& root, std::int64_t now_ns) {
  const std::string uptime = root.text("/proc/uptime").value_or("");
  if (uptime.empty()) {
    return 0;
  }
  const double seconds = std::strtod(uptime.c_str(), nullptr);
  const auto lead = static_cast<std::int64_t>(seconds * static_cast<double>(kSecondNs)) - now_ns;
  return std::abs(lead) < kMaxSameClockNs ? 0 : lead;
}

record::Process row_of(const Member& member, std::optional<std::int64_t> end_ns) {
  const JobProcess& process = member.process;
  return {.id = process.record_id,
          .pid = process.pid,
          .parent_pid = process.parent,
          .command = process.command,
          .rank = figure(process.rank.rank),
          .local_rank = figure(process.rank.local_rank),
          .world_size = figure(process.rank.world_size),
          .start_ns = process.start_ns,
          .end_ns = end_ns ? record::Figure(*end_ns) : record::Figure(),
          .exit_status = figure(member.exit_code)};
}

}  // namespace

// Which processes descend from the selected one: each process of the host is read once, when it is
// new. The last pid that the kernel assigned shows whether there are new ones at all, so that a
// refresh on a quiet host reads one short file.
class DescendantSearch {
 public:
  DescendantSearch(sys::Root root, Selection selection)
      : root_(std::move(root)), selection_(std::move(selection)) {}

  // Those of the job that were not returned before.
  std::vector<pid_t> find_new() {
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
    // Parents of these ended before they were read: by now they have others.
    is_scan_due_ = is_scan_due_ || !parents.empty();
    return found;
  }

  // The process has ended, and its pid may be assigned again.
  void forget(pid_t pid) { known_.erase(pid); }

 private:
  enum class Known { NotOurs, Ours };
  using Parents = std::map<pid_t, pid_t>;

  // A pid is assigned a moment before its process becomes visible: hence one more search.
  bool may_have_new() {
    const std::string loads = root_.text("/proc/loadavg").value_or("");
    const std::string last_pid = loads.substr(loads.rfind(' ') + 1);
    const bool is_quiet = !last_pid.empty() && last_pid == last_pid_;
    const bool is_due = !is_quiet || is_scan_due_;
    is_scan_due_ = !is_quiet;
    last_pid_ = last_pid;
    return is_due;
  }

  Parents parents_of_new() {
    const std::vector<pid_t> pids = pids_below(root_, "/proc");
    forget_all_but(pids);
    Parents parents;
    for (const pid_t pid : pids) {
      if (known_.contains(pid)) {
        continue;
      }
      if (const std::optional<StatLine> stat = read_stat(root_, pid)) {
        parents[pid] = stat->parent;
        // One that took the place of another, whose pid was unknown before.
        if (stat->parent == selection_.adopter && stat->name == kRelayName) {
          known_[pid] = Known::NotOurs;
          parents.erase(pid);
        }
      }
    }
    return parents;
  }

  void forget_all_but(const std::vector<pid_t>& pids) {
    std::erase_if(
        known_, [&](const auto& entry) { return !std::ranges::binary_search(pids, entry.first); });
  }

  // nullopt if the parent is not known yet.
  std::optional<Known> judge(pid_t pid, pid_t parent) const {
    if (is_excepted(pid)) {
      return Known::NotOurs;
    }
    if (pid == selection_.pid || (selection_.adopter > 0 && parent == selection_.adopter)) {
      return Known::Ours;
    }
    // The first of a namespace, or one that came from outside: a container's may be the job.
    if (parent == 0) {
      return Known::NotOurs;
    }
    const auto known = known_.find(parent);
    return known == known_.end() ? std::nullopt : std::optional(known->second);
  }

  bool is_excepted(pid_t pid) const {
    return pid == selection_.adopter ||
           std::ranges::find(selection_.not_the_jobs, pid) != selection_.not_the_jobs.end();
  }

  sys::Root root_;
  Selection selection_;
  std::map<pid_t, Known> known_;
  std::string last_pid_ = {};
  bool is_scan_due_ = true;
};

Roster::Roster(sys::Root root, Selection selection, record::Writer* writer, bool keeps_secrets)
    : root_(std::move(root)),
      selection_(std::move(selection)),
      writer_(writer),
      keeps_secrets_(keeps_secrets),
      descendants_(std::make_unique<DescendantSearch>(root_, selection_)),
      processes_(std::make_shared<const JobProcesses>()) {}

Roster::~Roster() = default;

std::shared_ptr<const JobProcesses> Roster::processes() const {
  const std::scoped_lock lock(mutex_);
  return processes_;
}

void Roster::refresh(std::int64_t now_ns) {
  if (!uptime_lead_ns_) {
    uptime_lead_ns_ = read_uptime_lead(root_, now_ns);
  }
  update_members(now_ns);
  admit(find_new(now_ns));
  give_ranks();
  publish();
}

void Roster::update_members(std::int64_t now_ns) {
  for (auto entry = members_.begin(); entry != members_.end();) {
    auto& [pid, member] = *entry;
    const std::optional<StatLine> stat = read_stat(root_, pid);
    const bool is_gone = !stat || stat->start_ticks != member.process.start_ticks;
    if (!member.is_over && (is_gone || stat->has_ended())) {
      end(member, stat, now_ns);
    } else if (!member.is_over && update_member(root_, *stat, member)) {
      write(member, std::nullopt);
    }
    // The selected process stays: note_end() reports later how it ended.
    const bool is_forgotten = is_gone && pid != selection_.pid;
    if (is_forgotten) {
      descendants_->forget(pid);
    }
    entry = is_forgotten ? members_.erase(entry) : std::next(entry);
  }
}

std::vector<pid_t> Roster::find_new(std::int64_t now_ns) {
  if (selection_.cgroup.empty()) {
    return selection_.pid > 0 ? descendants_->find_new() : std::vector<pid_t>{};
  }
  if (!cgroup_) {
    cgroup_ = find_cgroup(root_, selection_.cgroup);
  }
  const auto pids = cgroup_ ? pids_of_cgroup(root_, *cgroup_) : std::nullopt;
  const std::vector<pid_t> inside = pids.value_or(std::vector<pid_t>{});
  // A process that left the cgroup no longer belongs to the job.
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
      descendants_->forget(pid);
      continue;
    }
    if (!stat->has_ended() || pid == selection_.pid) {
      Member& member = members_[pid];
      member = read_member(root_, pid, *stat, *uptime_lead_ns_, keeps_secrets_);
      write(member, std::nullopt);
    }
  }
}

void Roster::end(Member& member, const std::optional<StatLine>& stat, std::int64_t now_ns) {
  end_member(stat, member);
  write(member, now_ns);
}

void Roster::note_end(const sys::ExitStatus& status, std::int64_t now_ns) {
  const auto entry = members_.find(selection_.pid);
  if (entry == members_.end() || entry->second.exit_code) {
    return;
  }
  entry->second.is_over = true;
  entry->second.exit_code = status.code;
  write(entry->second, now_ns);
  publish();
}

// A launcher may itself have a launcher's variables: they give no rank once there are nearer ones.
void Roster::give_ranks() {
  int nearest = 0;
  for (const auto& [pid, member] : members_) {
    nearest = std::max(nearest, member.rank.nearness);
  }
  for (auto& [pid, member] : members_) {
    const Rank rank = member.rank.nearness == nearest ? member.rank.rank : Rank{};
    if (!member.is_over && rank != member.process.rank) {
      member.process.rank = rank;
      write(member, std::nullopt);
    }
  }
}

void Roster::write(Member& member, std::optional<std::int64_t> end_ns) {
  if (writer_ != nullptr) {
    member.process.record_id = writer_->add(row_of(member, end_ns));
    record_steering(member);
  }
}

// The variables that steer the ranks, once: all ranks of a node have the same.
void Roster::record_steering(const Member& member) {
  if (has_steering_ || member.rank.nearness == 0) {
    return;
  }
  const std::string path = path_of(member.process.pid, "environ");
  for (const auto& [name, value] : host::steering_variables(root_.read(path).value_or(""))) {
    has_steering_ = true;
    writer_->add(record::Fact{.category = "environment",
                              .subject = "ranks",
                              .key = name,
                              .value = value,
                              .source = path});
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
