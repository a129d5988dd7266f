// What a rank waits for beside the network: its next batch, a file's data, a write. Looks many
// times a second at what the first thread of each rank and its helpers do just then; many looks
// together are shares of the time.
//
//   rank 3 ─── first thread     runs │ sleeps │ waits for a file system, to read or to write
//          └── its helpers      likewise, each
//
// A helper that was ever found at work is a loader. A rank waits for its next batch when its first
// thread sleeps and none of its loaders does: their queue is empty then. What of this costs a step
// only the analysis can say, which knows when the ranks exchanged.
#include <fmt/format.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host/mounts.h"
#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::int64_t kFindHelpersNs = 500'000'000;
constexpr std::size_t kMaxFamilies = 16;
constexpr std::size_t kMaxHelpers = 64;  // of one rank
constexpr std::size_t kMaxMounts = 8;    // of one rank; what waits for others counts for none
constexpr double kTolerance = 1;         // percent

// Functions of the kernel in which a thread sleeps that waits for a file system or its device.
// Names as in /proc/PID/wchan of Linux 5.10 to 6.18.
constexpr std::array<std::string_view, 24> kFileWaits{"folio_wait",
                                                      "wait_on_page",
                                                      "__lock_page",
                                                      "filemap_",
                                                      "io_schedule",
                                                      "bit_wait_io",
                                                      "wait_on_bit",
                                                      "__wait_on_buffer",
                                                      "submit_bio_wait",
                                                      "blkdev_issue_flush",
                                                      "__iomap_dio",
                                                      "iomap_dio",
                                                      "blkdev_direct",
                                                      "jbd2_",
                                                      "ext4_",
                                                      "xfs_",
                                                      "btrfs_",
                                                      "f2fs_",
                                                      "balance_dirty",
                                                      "fuse_",
                                                      "request_wait_answer",
                                                      "rpc_wait",
                                                      "nfs",
                                                      "cifs_"};
// Those in which it waits for what it wrote.
constexpr std::array<std::string_view, 6> kWriteWaits{
    "jbd2_log_wait", "folio_wait_writeback", "wait_on_page_writeback",
    "balance_dirty", "blkdev_issue_flush",   "file_write_and_wait"};

template <std::size_t Count>
bool begins_as_one_of(std::string_view name,
                      const std::array<std::string_view, Count>& beginnings) {
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// "18 0x5 0x7f… …": the system call that a sleeping thread is in, and its first argument.
struct SystemCall {
  std::int64_t number = -1;
  std::optional<std::uint64_t> first = {};
};

std::optional<SystemCall> system_call_in(std::string_view text) {
  Words words(text);
  const auto number = sys::parse_number<std::int64_t>(words.next());
  if (!number || *number < 0) {
    return std::nullopt;  // "running", or "-1" outside of any
  }
  const std::string_view first = words.next();
  return SystemCall{
      .number = *number,
      .first = first.starts_with("0x") ? number_in(first.substr(2), 16) : std::nullopt};
}

bool writes(std::int64_t system_call) {
  static const std::set<std::int64_t> kWrites{
      SYS_write,     SYS_pwrite64,  SYS_writev, SYS_pwritev, SYS_pwritev2,
      SYS_fsync,     SYS_fdatasync, SYS_sync,   SYS_syncfs,  SYS_sync_file_range,
      SYS_fallocate, SYS_ftruncate, SYS_close,  SYS_msync,   SYS_copy_file_range,
      SYS_unlinkat,  SYS_renameat2};
  return kWrites.contains(system_call);
}

// Whether its first argument is a file's descriptor.
bool is_of_descriptor(std::int64_t system_call) {
  static const std::set<std::int64_t> kOthers{SYS_sync,      SYS_openat,     SYS_unlinkat,
                                              SYS_renameat2, SYS_msync,      SYS_newfstatat,
                                              SYS_statx,     SYS_readlinkat, SYS_mmap};
  return !kOthers.contains(system_call);
}

// Rests: for a time that it chose itself, which no batch ends.
enum class Doing { Runs, Sleeps, Rests, Reads, Writes };

struct Look {
  Doing doing = Doing::Sleeps;
  std::string mount = {};  // "?" where it is not known which
  bool is_of_files() const { return doing == Doing::Reads || doing == Doing::Writes; }
};

// The first thread of a process.
class FirstThread {
 public:
  FirstThread(const sys::Root& root, pid_t pid)
      : pid_(pid),
        stat_(root, fmt::format("/proc/{}/stat", pid)),
        waits_in_(root, fmt::format("/proc/{}/wchan", pid)) {}

  // nullopt where the process has gone.
  std::optional<Look> look(const sys::Root& root, const std::vector<host::Mount>& mounts,
                           std::string& buffer) {
    const Result<std::string_view> stat = stat_.read(buffer);
    const std::size_t bracket = stat ? stat->rfind(") ") : std::string_view::npos;
    if (bracket == std::string_view::npos || bracket + 2 >= stat->size()) {
      return std::nullopt;
    }
    const char state = stat->at(bracket + 2);
    if (state == 'R') {
      return Look{.doing = Doing::Runs};
    }
    if (state != 'S' && state != 'D') {
      return Look{};
    }
    const std::string waits_in(waits_in_.read(buffer).value_or(""));
    if (is_of_files(state, waits_in)) {
      return of_files(root, mounts, waits_in);
    }
    return Look{.doing = waits_in.starts_with("hrtimer_nanosleep") ? Doing::Rests : Doing::Sleeps};
  }

 private:
  // Without the right to see where it sleeps, a sleep that no signal ends is nearly always one.
  static bool is_of_files(char state, std::string_view waits_in) {
    const bool is_hidden = waits_in.empty() || waits_in == "0";
    return is_hidden ? state == 'D' : begins_as_one_of(waits_in, kFileWaits);
  }

  Look of_files(const sys::Root& root, const std::vector<host::Mount>& mounts,
                const std::string& waits_in) const {
    const auto text = root.text(fmt::format("/proc/{}/syscall", pid_));
    const auto call = text ? system_call_in(*text) : std::nullopt;
    const bool is_write = begins_as_one_of(waits_in, kWriteWaits) || (call && writes(call->number));
    return {.doing = is_write ? Doing::Writes : Doing::Reads,
            .mount = mount_of(root, mounts, call)};
  }

  std::string mount_of(const sys::Root& root, const std::vector<host::Mount>& mounts,
                       const std::optional<SystemCall>& call) const {
    if (!call || !call->first || !is_of_descriptor(call->number)) {
      return "?";
    }
    const auto path = root.resolve(fmt::format("/proc/{}/fd/{}", pid_, *call->first));
    const host::Mount* mount = path ? host::mount_of(mounts, *path) : nullptr;
    return mount == nullptr ? "?" : mount->point;
  }

  pid_t pid_;
  KeptFile stat_;
  KeptFile waits_in_;
};

struct Helper {
  FirstThread thread;
  bool is_loader = false;
  std::int64_t seen_ns = 0;  // when the job last had it
};

// A rank's first thread and its helpers, and what was found of them.
class Family {
 public:
  Family(const sys::Root& root, const job::JobProcess& rank)
      : start_ticks_(rank.start_ticks),
        subject_(std::to_string(rank.pid)),
        first_(root, rank.pid) {}

  std::uint64_t start_ticks() const { return start_ticks_; }

  void note_helper(const sys::Root& root, pid_t pid, std::int64_t now_ns) {
    const auto known = helpers_.find(pid);
    if (known != helpers_.end()) {
      known->second.seen_ns = now_ns;
    } else if (helpers_.size() < kMaxHelpers) {
      helpers_.emplace(pid, Helper{.thread = FirstThread(root, pid), .seen_ns = now_ns});
    }
  }
  void forget_helpers(std::int64_t now_ns) {
    std::erase_if(helpers_, [&](const auto& entry) { return entry.second.seen_ns != now_ns; });
  }

  // Of its own view: a container has mounts that the host does not have there.
  void find_mounts(const sys::Root& root, std::int64_t now_ns) {
    if (now_ns >= mounts_ns_) {
      mounts_ns_ = now_ns + kFindAgainNs;
      mounts_ =
          host::mounts_in(root.text(fmt::format("/proc/{}/mountinfo", subject_)).value_or(""));
    }
  }

  void look(const sys::Root& root, std::int64_t now_ns, std::string& buffer, Sink& sink) {
    const std::optional<Look> first = first_.look(root, mounts_, buffer);
    if (!first) {
      return;
    }
    Loaders loaders;
    for (auto& [pid, helper] : helpers_) {
      if (const auto look = helper.thread.look(root, mounts_, buffer)) {
        helper.is_loader = helper.is_loader || look->doing == Doing::Runs || look->is_of_files();
        loaders.add(helper.is_loader, *look);
      }
    }
    write(*first, loaders, now_ns, sink);
  }

 private:
  struct Loaders {
    int count = 0;
    int running = 0;
    int waiting = 0;  // for file systems
    std::map<std::string, int> by_mount = {};

    void add(bool is_loader, const Look& look) {
      count += is_loader ? 1 : 0;
      running += look.doing == Doing::Runs ? 1 : 0;
      if (look.is_of_files()) {
        ++waiting;
        ++by_mount[look.mount];
      }
    }
    bool all_work() const { return count > 0 && running + waiting >= count; }
    double percent(int part) const { return count > 0 ? 100.0 * part / count : 0; }
  };

  // A series that never had anything to say is not begun.
  void see(std::string_view series, const std::string& subject, double percent, Sink& sink) {
    if (percent <= 0 && !begun_.contains({std::string(series), subject})) {
      return;
    }
    begun_.insert({std::string(series), subject});
    sink.share({std::string(series), subject, source_}, kTolerance)
        .see(now_ns_, now_ns_ - before_ns_, percent);
  }

  void see_by_mount(std::string_view series, const std::map<std::string, double>& percents,
                    Sink& sink) {
    for (const auto& [mount, percent] : percents) {
      if (waited_for_.size() < kMaxMounts) {
        waited_for_.insert(mount);
      }
    }
    for (const std::string& mount : waited_for_) {
      const auto found = percents.find(mount);
      see(series, subject_ + " " + mount, found == percents.end() ? 0 : found->second, sink);
    }
  }

  void write(const Look& first, const Loaders& loaders, std::int64_t now_ns, Sink& sink) {
    before_ns_ = std::exchange(now_ns_, now_ns);
    if (before_ns_ == 0) {
      return;
    }
    const auto if_doing = [&](Doing doing) {
      return first.doing == doing ? std::map<std::string, double>{{first.mount, 100}}
                                  : std::map<std::string, double>{};
    };
    see_by_mount(record::kInputReading, if_doing(Doing::Reads), sink);
    see_by_mount(record::kInputWriting, if_doing(Doing::Writes), sink);
    const bool waits = first.doing == Doing::Sleeps && loaders.all_work();
    see(record::kInputWaiting, subject_, waits ? 100 : 0, sink);
    see(record::kLoadersRunning, subject_, loaders.percent(loaders.running), sink);
    std::map<std::string, double> blocked;
    for (const auto& [mount, count] : loaders.by_mount) {
      blocked[mount] = loaders.percent(count);
    }
    see_by_mount(record::kLoadersWaiting, blocked, sink);
    if (loaders.count > 0) {
      sink.level({std::string(record::kLoaders), subject_, source_}).see(now_ns, loaders.count);
    }
  }

  std::uint64_t start_ticks_;
  std::string subject_;
  std::string source_ = "/proc/PID/stat, wchan, syscall";
  FirstThread first_;
  std::map<pid_t, Helper> helpers_;
  std::vector<host::Mount> mounts_;
  std::int64_t mounts_ns_ = 0;
  std::set<std::string> waited_for_;
  std::set<std::pair<std::string, std::string>> begun_;
  std::int64_t now_ns_ = 0;
  std::int64_t before_ns_ = 0;
};

// Of the job's processes, which are ranks, and whose helpers the others are. One that only waits
// for its child to end, as a shell does, counts for nothing.
class Kinship {
 public:
  Kinship(const sys::Root& root, const job::JobProcesses& processes) {
    for (const job::JobProcess& process : processes) {
      by_pid_[process.pid] = &process;
      has_ranks_ = has_ranks_ || process.rank.rank.has_value();
    }
    for (const job::JobProcess& process : processes) {
      const auto parent = by_pid_.find(process.parent);
      if (parent != by_pid_.end() && waits_for_child(root, process.parent)) {
        shells_.insert(process.parent);
      }
    }
  }

  // A helper has its rank's number in its environment, too.
  bool is_rank(const job::JobProcess& process) const {
    if (shells_.contains(process.pid)) {
      return false;
    }
    const job::JobProcess* parent = parent_of(process);
    if (!has_ranks_) {
      return parent == nullptr;
    }
    return process.rank.rank && (parent == nullptr || parent->rank.rank != process.rank.rank);
  }

  // nullptr of what is no rank's, as a launcher.
  const job::JobProcess* rank_of(const job::JobProcess& process) const {
    const job::JobProcess* each = parent_of(process);
    for (std::size_t depth = 0; each != nullptr && depth < by_pid_.size(); ++depth) {
      if (is_rank(*each)) {
        return each;
      }
      each = parent_of(*each);
    }
    return nullptr;
  }

 private:
  static bool waits_for_child(const sys::Root& root, pid_t pid) {
    return root.text(fmt::format("/proc/{}/wchan", pid)).value_or("").starts_with("do_wait");
  }

  // The nearest that is no shell. Numbers are used again, so a chain may lead in a circle.
  const job::JobProcess* parent_of(const job::JobProcess& process) const {
    const job::JobProcess* each = &process;
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

  std::map<pid_t, const job::JobProcess*> by_pid_;
  std::set<pid_t> shells_;
  bool has_ranks_ = false;
};

class InputSampler final : public Sampler {
 public:
  explicit InputSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    if (moment.now_ns >= find_ns_) {
      find_ns_ = moment.now_ns + kFindHelpersNs;
      find(moment);
    }
    for (auto& [pid, family] : families_) {
      family.look(root_, moment.now_ns, buffer_, sink);
    }
  }

 private:
  void find(const Moment& moment) {
    const Kinship kinship(root_, moment.processes);
    std::set<pid_t> ranks;
    for (const job::JobProcess& process : moment.processes) {
      if (kinship.is_rank(process) && ranks.size() < kMaxFamilies) {
        ranks.insert(process.pid);
        const auto known = families_.find(process.pid);
        if (known == families_.end() || known->second.start_ticks() != process.start_ticks) {
          families_.insert_or_assign(process.pid, Family(root_, process));
        }
      }
    }
    std::erase_if(families_, [&](const auto& entry) { return !ranks.contains(entry.first); });
    for (const job::JobProcess& process : moment.processes) {
      const job::JobProcess* rank =
          ranks.contains(process.pid) ? nullptr : kinship.rank_of(process);
      const auto family = rank == nullptr ? families_.end() : families_.find(rank->pid);
      if (family != families_.end()) {
        family->second.note_helper(root_, process.pid, moment.now_ns);
      }
    }
    for (auto& [pid, family] : families_) {
      family.forget_helpers(moment.now_ns);
      family.find_mounts(root_, moment.now_ns);
    }
  }

  sys::Root root_;
  std::map<pid_t, Family> families_;
  std::int64_t find_ns_ = 0;
  std::string buffer_;
};

}  // namespace

OwnedSampler input_sampler(const sys::Root& root) { return std::make_unique<InputSampler>(root); }

}  // namespace chokepoint::capture::counter
