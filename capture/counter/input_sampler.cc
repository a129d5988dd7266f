// What a rank waits for beside the network: its next batch, a file's data, a write. Samples many
// times a second what the first thread of each rank and its helpers do; shares of the samples are
// shares of the time.
//
//   rank 3 ─── first thread     runs │ sleeps │ waits for a file system, to read or to write
//          └── its helpers      likewise, each
//
// A helper that was ever found at work is a loader, and so is one that waits for a socket or a
// timer, or whose processor time grows. A rank waits for its next batch when its first thread
// sleeps and none of its loaders does: their queue is empty then. Loaders may sleep as well, as for
// a store on another host: then a rank waits when it sleeps at a queue. How much of this a step
// costs is left to the analysis, which knows when the ranks exchanged.
#include <fmt/format.h>

#include <algorithm>
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
#include "capture/counter/first_thread.h"
#include "capture/counter/sampler.h"
#include "capture/job/kinship.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::int64_t kFindHelpersNs = 500'000'000;  // between searches for new loaders
constexpr std::size_t kMaxFamilies = 16;
constexpr std::size_t kMaxHelpers = 64;  // of one rank
constexpr std::size_t kMaxEnded = 256;
constexpr std::size_t kMaxMounts = 8;         // of one rank; what waits for others counts for none
constexpr std::uint64_t kMinLoaderTicks = 3;  // that a helper runs while it is watched: a judgement
constexpr double kShareTolerance = 1;         // percent; smaller changes write no row

// By the pid where a process is no rank. A rank may have had several processes.
using WaitsByRank = std::map<std::pair<std::optional<int>, pid_t>, Figures::Waits>;

// Work that is done elsewhere, for which a loader waits.
bool is_remote(const ThreadSample& sample) {
  return sample.is_at_socket || sample.doing == Doing::Rests;
}

struct Helper {
  FirstThread thread;
  bool is_loader = false;
  std::optional<std::uint64_t> first_ticks = {};  // of its processor time
  std::int64_t seen_ns = 0;                       // when the job last had it

  void note(const ThreadSample& sample) {
    first_ticks = first_ticks.value_or(sample.cpu_ticks);
    is_loader = is_loader || sample.doing == Doing::Runs || sample.is_of_files() ||
                is_remote(sample) || sample.cpu_ticks >= *first_ticks + kMinLoaderTicks;
  }
};

// A rank's first thread and its helpers, and what was found of them.
class Family {
 public:
  Family(const sys::Root& root, const job::JobProcess& rank)
      : start_ticks_(rank.start_ticks),
        subject_(std::to_string(rank.pid)),
        waited_{.rank = rank.rank.rank, .pid = rank.pid},
        first_(root, rank.pid) {}

  std::uint64_t start_ticks() const { return start_ticks_; }
  const Figures::Waits& waited() const { return waited_; }

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

  // A container has mounts that the host does not have there.
  void find_mounts(const sys::Root& root, std::int64_t now_ns) {
    if (now_ns >= mounts_ns_) {
      mounts_ns_ = now_ns + kFindAgainNs;
      mounts_ = host::mounts_of_process(root, waited_.pid);
    }
  }

  void sample(const sys::Root& root, std::int64_t now_ns, std::string& buffer, Sink& sink) {
    const std::optional<ThreadSample> first = first_.sample(root, mounts_, buffer);
    if (!first) {
      return;
    }
    Loaders loaders;
    for (auto& [pid, helper] : helpers_) {
      if (const auto sample = helper.thread.sample(root, mounts_, buffer)) {
        helper.note(*sample);
        loaders.add(helper.is_loader, *sample);
      }
    }
    write(*first, loaders, now_ns, sink);
  }

 private:
  struct Loaders {
    int count = 0;
    int running = 0;
    int waiting = 0;  // for file systems
    int remote = 0;
    std::map<std::string, int> by_mount = {};

    void add(bool is_loader, const ThreadSample& sample) {
      count += is_loader ? 1 : 0;
      running += sample.doing == Doing::Runs ? 1 : 0;
      remote += is_remote(sample) ? 1 : 0;
      if (sample.is_of_files()) {
        ++waiting;
        ++by_mount[sample.mount];
      }
    }
    bool all_work() const { return running + waiting >= count; }
    double percent(int part) const { return count > 0 ? 100.0 * part / count : 0; }
  };

  // A series that is 0 throughout is not begun.
  void see(std::string_view series, const std::string& subject, double percent, Sink& sink) {
    if (percent <= 0 && !begun_.contains({std::string(series), subject})) {
      return;
    }
    begun_.insert({std::string(series), subject});
    sink.share({std::string(series), subject, source_}, kShareTolerance)
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

  void write(const ThreadSample& first, const Loaders& loaders, std::int64_t now_ns, Sink& sink) {
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
    const bool waits = first.doing == Doing::Sleeps && loaders.count > 0 &&
                       (loaders.all_work() || first.is_at_queue);
    const double span_s = static_cast<double>(now_ns_ - before_ns_) / 1e9;
    waited_.batch_s += waits ? span_s : 0;
    waited_.read_s += first.doing == Doing::Reads ? span_s : 0;
    waited_.write_s += first.doing == Doing::Writes ? span_s : 0;
    see(record::kInputWaiting, subject_, waits ? 100 : 0, sink);
    see(record::kLoadersRunning, subject_, loaders.percent(loaders.running), sink);
    see(record::kLoadersRemote, subject_, loaders.percent(loaders.remote), sink);
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
  Figures::Waits waited_;
  std::string source_ = "/proc/PID/stat, wchan, syscall";
  FirstThread first_;
  std::map<pid_t, Helper> helpers_;
  host::ProcessMounts mounts_;
  std::int64_t mounts_ns_ = 0;
  std::set<std::string> waited_for_;
  std::set<std::pair<std::string, std::string>> begun_;
  std::int64_t now_ns_ = 0;
  std::int64_t before_ns_ = 0;
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
      family.sample(root_, moment.now_ns, buffer_, sink);
    }
  }

  // A rank that ended, and was started again, has waited for both times together.
  void report(Figures& figures) const override {
    WaitsByRank all = ended_;
    for (const auto& [pid, family] : families_) {
      add(all, family.waited());
    }
    for (auto& [rank, waits] : all) {
      figures.waits.push_back(waits);
    }
  }

 private:
  void find(const Moment& moment) {
    const job::Kinship kinship(root_, moment.processes);
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
    std::erase_if(families_, [&](const auto& entry) {
      const bool is_over = !ranks.contains(entry.first);
      if (is_over && ended_.size() < kMaxEnded) {
        add(ended_, entry.second.waited());
      }
      return is_over;
    });
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

  static void add(WaitsByRank& all, const Figures::Waits& waits) {
    Figures::Waits& sum = all[{waits.rank, waits.rank ? 0 : waits.pid}];
    sum.rank = waits.rank;
    sum.pid = waits.pid;
    sum.batch_s += waits.batch_s;
    sum.read_s += waits.read_s;
    sum.write_s += waits.write_s;
  }

  sys::Root root_;
  std::map<pid_t, Family> families_;
  WaitsByRank ended_;
  std::int64_t find_ns_ = 0;
  std::string buffer_;
};

}  // namespace

OwnedSampler input_sampler(const sys::Root& root) { return std::make_unique<InputSampler>(root); }

}  // namespace chokepoint::capture::counter
