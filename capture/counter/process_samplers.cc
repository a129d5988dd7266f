// Samplers of the job's processes, of their threads, and of chokepoint itself.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr double kProcessMemoryToleranceBytes = 4 << 20;
constexpr std::size_t kMaxOpenProcessFiles = 64;
constexpr const char* kOwnStat = "/proc/self/stat";

// CPU time and memory of each process of the job.
class ProcessSampler final : public Sampler {
 public:
  explicit ProcessSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    for (const job::JobProcess& process : moment.processes) {
      read_process(process, moment.now_ns, sink);
    }
    std::erase_if(known_, [&](const auto& entry) { return entry.second.seen_ns != moment.now_ns; });
  }

 private:
  struct Known {
    std::uint64_t start_ticks = 0;  // of the process that had the pid last
    KernelFile stat;
    Counter* cpu = nullptr;
    Level* memory = nullptr;
    std::int64_t seen_ns = 0;
  };

  Known& known(const job::JobProcess& process, Sink& sink) {
    const auto found = known_.find(process.pid);
    if (found != known_.end() && found->second.start_ticks == process.start_ticks) {
      return found->second;
    }
    const std::string subject = std::to_string(process.pid);
    const std::string source = fmt::format("/proc/{}/stat", process.pid);
    Known fresh{
        .start_ticks = process.start_ticks,
        .stat = KernelFile(root_, source, known_.size() < kMaxOpenProcessFiles),
        .cpu = &sink.counter({std::string(record::kProcessCpu), subject, source}, FirstRow::Always),
        .memory = &sink.level({std::string(record::kProcessMemory), subject, source},
                              kProcessMemoryToleranceBytes)};
    fresh.cpu->restart();
    return known_.insert_or_assign(process.pid, std::move(fresh)).first->second;
  }

  void read_process(const job::JobProcess& process, std::int64_t now_ns, Sink& sink) {
    Known& known = this->known(process, sink);
    known.seen_ns = now_ns;
    const Result<std::string_view> text = known.stat.read(buffer_);
    if (const auto stat = text ? process_stat_in(*text) : std::nullopt) {
      known.cpu->see(now_ns, stat->cpu_ns);
      known.memory->see(now_ns, static_cast<double>(stat->memory_bytes));
    }
  }

  sys::Root root_;
  std::map<pid_t, Known> known_;
  std::string buffer_;
};

// CPU time and memory of chokepoint itself: of this process and of those that it started, which
// read packets.
class OwnSampler final : public Sampler {
 public:
  explicit OwnSampler(const sys::Root& root) : root_(root), stat_(root, kOwnStat) {}

  void sample(const Moment& moment, Sink& sink) override {
    const Result<std::string_view> text = stat_.read(buffer_);
    const std::optional<ProcessStat> stat = text ? process_stat_in(*text) : std::nullopt;
    if (!stat) {
      sink.remark("chokepoint's own cost: no /proc/self/stat");
      return;
    }
    const ProcessStat all = with_children(*stat);
    sink.counter({std::string(record::kOwnCpu), "", kOwnStat}, FirstRow::Always)
        .see(moment.now_ns, all.cpu_ns);
    sink.level({std::string(record::kOwnMemory), "", kOwnStat}, kProcessMemoryToleranceBytes)
        .see(moment.now_ns, static_cast<double>(all.memory_bytes));
    if (!first_ns_) {
      first_ns_ = moment.now_ns;
      first_cpu_ns_ = all.cpu_ns;
    } else if (moment.now_ns > *first_ns_) {
      percent_ = 100.0 * static_cast<double>(all.cpu_ns - first_cpu_ns_) /
                 static_cast<double>(moment.now_ns - *first_ns_);
    }
  }

  void report(Figures& figures) const override { figures.own_cpu_percent = percent_; }

 private:
  // What a child that has ended took stays in the sum.
  ProcessStat with_children(ProcessStat own) {
    for (const std::string& thread : root_.list("/proc/self/task")) {
      const std::string path = "/proc/self/task/" + thread + "/children";
      std::istringstream children(root_.text(path).value_or(""));
      for (std::string child; children >> child;) {
        const auto text = root_.read("/proc/" + child + "/stat");
        if (const auto stat = text ? process_stat_in(*text) : std::nullopt) {
          children_cpu_ns_[child] = stat->cpu_ns;
          own.memory_bytes += stat->memory_bytes;
        }
      }
    }
    for (const auto& [child, cpu_ns] : children_cpu_ns_) {
      own.cpu_ns += cpu_ns;
    }
    return own;
  }

  sys::Root root_;
  std::map<std::string, std::uint64_t> children_cpu_ns_;
  KernelFile stat_;
  std::string buffer_;
  std::optional<std::int64_t> first_ns_;
  std::uint64_t first_cpu_ns_ = 0;
  std::optional<double> percent_;
};

constexpr int kMaxNamesWithSeries = 12;  // of one process
constexpr std::size_t kMaxNames = 64;    // of one process; all further threads are "other"
constexpr std::uint64_t kMinTimeForSeriesNs = 50'000'000;
constexpr std::size_t kMaxThreadsAtATime = 160;
constexpr std::size_t kMaxOpenThreadFiles = 384;
constexpr std::int64_t kListAgainNs = 1'000'000'000;
constexpr double kMinShare = 0.005;  // of a core: less gets no row of its own

std::string path_of(pid_t pid, pid_t tid, std::string_view file) {
  return fmt::format("/proc/{}/task/{}/{}", pid, tid, file);
}

double percent(std::uint64_t part_ns, std::int64_t span_ns) {
  return span_ns > 0 ? 100.0 * static_cast<double>(part_ns) / static_cast<double>(span_ns) : 0;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t now) { return now - std::min(now, before); }

std::string label_of(const job::JobProcess& process) {
  return process.rank.rank ? fmt::format("rank {}", *process.rank.rank)
                           : fmt::format("pid {}", process.pid);
}

// The n-th reading of a thread at which its name is read again: often while it is young, because
// threads are named after they start.
bool is_name_due(int reading) { return reading == 0 || reading == 2 || reading % 32 == 8; }

// From schedstat of the threads of the job's processes: time running, and time ready to run while
// no core was free, which shows a starved receiver. All threads of one name in one process are one
// series, so that a pool of 256 is one.
//
// Gloo and Debian's PyTorch leave their threads the process's own name. Of those, two kinds get
// series of their own: the main thread, which runs forward and optimizer, and threads that were
// ever found waiting in epoll, as is Gloo's loop, which does all its receiving.
//
// In a job of thousands of threads each reading takes some processes, in turn, so that none takes
// long.
class ThreadSampler final : public Sampler {
 public:
  explicit ThreadSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override {
    forget_processes(moment.processes);
    std::size_t threads = 0;
    for (std::size_t i = 0; i < moment.processes.size() && threads < kMaxThreadsAtATime; ++i) {
      const job::JobProcess& process = moment.processes[next_++ % moment.processes.size()];
      read_process(process, moment.now_ns, sink);
      threads += processes_[process.pid].threads.size();
    }
  }

  void report(Figures& figures) const override {
    const auto busiest = std::ranges::max_element(
        processes_, {}, [](const auto& entry) { return entry.second.busiest.percent; });
    if (busiest != processes_.end() && !busiest->second.busiest.name.empty()) {
      figures.busiest_thread_percent = busiest->second.busiest.percent;
      figures.busiest_thread = busiest->second.busiest.name;
    }
  }

 private:
  struct Times {
    std::uint64_t cpu_ns = 0;
    std::uint64_t wait_ns = 0;
  };
  struct Group {
    Counter* cpu = nullptr;
    Counter* wait = nullptr;
    Share* busiest = nullptr;
    Times gone = {};  // of threads that ended, or are of another group now
    Times sum = {};
    Times before = {};
    std::uint64_t most_ns = 0;  // of one thread, since the reading before
    int threads = 0;
    bool has_series = false;
  };
  struct Thread {
    KernelFile file;
    std::string group = {};
    Times joined = {};  // what it had done when it came to its group
    Times last = {};
    std::int64_t seen_ns = 0;
    int readings = 0;
    bool is_epoll = false;
  };
  struct Busiest {
    double percent = 0;
    std::string name = {};
  };
  struct Process {
    std::uint64_t start_ticks = 0;
    std::int64_t before_ns = 0;
    std::string comm = {};
    std::string label = {};
    std::map<pid_t, Thread> threads = {};
    std::map<std::string, Group> groups = {};
    int series_groups = 0;
    std::int64_t listed_ns = INT64_MIN;
    Busiest busiest = {};
  };

  void forget_processes(const job::JobProcesses& processes) {
    std::erase_if(processes_, [&](const auto& entry) {
      return std::ranges::none_of(
          processes, [&](const job::JobProcess& process) { return process.pid == entry.first; });
    });
    open_files_ = 0;
    for (const auto& [pid, process] : processes_) {
      open_files_ += process.threads.size();
    }
  }

  void read_process(const job::JobProcess& job, std::int64_t now_ns, Sink& sink) {
    Process& process = processes_[job.pid];
    if (process.start_ticks != job.start_ticks) {
      process = {.start_ticks = job.start_ticks};
    }
    process.label = label_of(job);
    if (process.listed_ns == INT64_MIN || now_ns - process.listed_ns >= kListAgainNs) {
      list(process, job.pid, now_ns);
    }
    for (auto& [tid, thread] : process.threads) {
      read_thread(process, thread, job.pid, tid, now_ns);
    }
    forget_gone(process, now_ns);
    write(process, job.pid, now_ns, sink);
  }

  void read_thread(Process& process, Thread& thread, pid_t pid, pid_t tid, std::int64_t now_ns) {
    const std::optional<Times> times = read_times(thread, pid, tid);
    if (!times) {
      return;
    }
    const bool is_first = thread.readings == 0;
    if (is_name_due(thread.readings++)) {
      std::string group = group_of(process, thread, pid, tid);
      if (!process.groups.contains(group) && process.groups.size() >= kMaxNames) {
        group = "other";
      }
      if (group != thread.group) {
        move_to(process, thread, group);
      }
    }
    const std::uint64_t worked = is_first ? 0 : grown(thread.last.cpu_ns, times->cpu_ns);
    thread.last = *times;
    thread.seen_ns = now_ns;
    Group& group = process.groups[thread.group];
    group.sum.cpu_ns += grown(thread.joined.cpu_ns, times->cpu_ns);
    group.sum.wait_ns += grown(thread.joined.wait_ns, times->wait_ns);
    group.most_ns = std::max(group.most_ns, worked);
    ++group.threads;
  }

  std::string group_of(const Process& process, Thread& thread, pid_t pid, pid_t tid) const {
    const std::string comm = root_.text(path_of(pid, tid, "comm")).value_or("?");
    if (tid == pid) {
      return comm + " (main)";
    }
    if (comm != process.comm) {
      return kind_of_thread(comm);
    }
    if (!thread.is_epoll) {
      const std::string waits_in = root_.text(path_of(pid, tid, "wchan")).value_or("");
      thread.is_epoll = waits_in.contains("epoll") || waits_in.starts_with("ep_");
    }
    return thread.is_epoll ? comm + " (epoll)" : comm;
  }

  void list(Process& process, pid_t pid, std::int64_t now_ns) {
    process.listed_ns = now_ns;
    process.comm = root_.text(fmt::format("/proc/{}/comm", pid)).value_or(process.comm);
    for (const std::string& name : root_.list(fmt::format("/proc/{}/task", pid))) {
      const auto number = number_in(name);
      const auto tid = static_cast<pid_t>(number.value_or(0));
      if (tid == 0 || process.threads.contains(tid)) {
        continue;
      }
      const bool stays_open = open_files_++ < kMaxOpenThreadFiles;
      process.threads.emplace(
          tid, Thread{.file = KernelFile(root_, path_of(pid, tid, "schedstat"), stays_open)});
    }
  }

  // "443215 273119 4": nanoseconds on a core, nanoseconds waiting for one, time slices. A kernel
  // built without schedstat has the first in /proc/PID/stat, in ticks of 10 ms.
  std::optional<Times> read_times(Thread& thread, pid_t pid, pid_t tid) {
    if (const Result<std::string_view> text = thread.file.read(buffer_)) {
      Words words(*text);
      const std::optional<std::uint64_t> cpu_ns = number_in(words.next());
      const std::optional<std::uint64_t> wait_ns = number_in(words.next());
      return cpu_ns && wait_ns ? std::optional(Times{*cpu_ns, *wait_ns}) : std::nullopt;
    }
    const Result<std::string> text = root_.read(path_of(pid, tid, "stat"));
    const std::optional<ProcessStat> stat = text ? process_stat_in(*text) : std::nullopt;
    return stat ? std::optional(Times{stat->cpu_ns, 0}) : std::nullopt;
  }

  // What the thread did in its group stays with the group.
  static void leave(Process& process, Thread& thread) {
    Group& group = process.groups[thread.group];
    group.gone.cpu_ns += grown(thread.joined.cpu_ns, thread.last.cpu_ns);
    group.gone.wait_ns += grown(thread.joined.wait_ns, thread.last.wait_ns);
    thread.joined = thread.last;
  }

  static void move_to(Process& process, Thread& thread, const std::string& group) {
    if (!thread.group.empty()) {
      leave(process, thread);
    }
    thread.group = group;
  }

  static void forget_gone(Process& process, std::int64_t now_ns) {
    for (auto entry = process.threads.begin(); entry != process.threads.end();) {
      const bool is_gone = entry->second.seen_ns != now_ns;
      if (is_gone) {
        leave(process, entry->second);
      }
      entry = is_gone ? process.threads.erase(entry) : std::next(entry);
    }
  }

  void write(Process& process, pid_t pid, std::int64_t now_ns, Sink& sink) {
    const std::int64_t span_ns = now_ns - process.before_ns;
    process.busiest = {};
    for (auto& [name, group] : process.groups) {
      write_group(process, pid, name, group, now_ns, sink);
      const double share = process.before_ns > 0 ? percent(group.most_ns, span_ns) : 0;
      if (share > process.busiest.percent) {
        process.busiest = {share, fmt::format("{}, {}", name, process.label)};
      }
      group.sum = {};
      group.most_ns = 0;
      group.threads = 0;
    }
    process.before_ns = now_ns;
  }

  // The first names with enough time get series, and keep them.
  static bool has_series(Process& process, Group& group, const Times& did) {
    if (!group.has_series && process.series_groups < kMaxNamesWithSeries &&
        did.cpu_ns + did.wait_ns >= kMinTimeForSeriesNs) {
      group.has_series = true;
      ++process.series_groups;
    }
    return group.has_series;
  }

  static void find_series(Group& group, pid_t pid, const std::string& name, Sink& sink) {
    const std::string subject = fmt::format("{}/{}", pid, name);
    const std::string source = fmt::format("/proc/{}/task/*/schedstat", pid);
    group.cpu = &sink.counter({std::string(record::kThreadCpu), subject, source});
    group.wait = &sink.counter({std::string(record::kThreadWait), subject, source});
    group.busiest = &sink.share({std::string(record::kThreadBusiest), subject, source}, 2);
    group.cpu->restart();
    group.wait->restart();
  }

  void write_group(Process& process, pid_t pid, const std::string& name, Group& group,
                   std::int64_t now_ns, Sink& sink) {
    const Times did{group.gone.cpu_ns + group.sum.cpu_ns, group.gone.wait_ns + group.sum.wait_ns};
    if (!has_series(process, group, did)) {
      return;
    }
    if (group.cpu == nullptr) {
      find_series(group, pid, name, sink);
    }
    const std::int64_t span_ns = now_ns - process.before_ns;
    const auto least = static_cast<std::uint64_t>(kMinShare * static_cast<double>(span_ns));
    const bool is_worth_a_row =
        grown(group.before.cpu_ns, did.cpu_ns) + grown(group.before.wait_ns, did.wait_ns) >= least;
    group.before = did;
    group.cpu->see(now_ns, did.cpu_ns, is_worth_a_row);
    group.wait->see(now_ns, did.wait_ns, is_worth_a_row);
    if (group.threads > 1 && process.before_ns > 0) {
      group.busiest->see(now_ns, span_ns, percent(group.most_ns, span_ns));
    }
  }

  sys::Root root_;
  std::map<pid_t, Process> processes_;
  std::size_t open_files_ = 0;
  std::string buffer_;
  std::size_t next_ = 0;  // of the job's processes, the one whose turn it is
};

}  // namespace

std::string kind_of_thread(std::string_view comm) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t last = comm.find_last_not_of(kDigits);
  const bool has_number = last != std::string_view::npos && last + 1 < comm.size();
  if (!has_number || !std::string_view("_-/:. #[").contains(comm[last])) {
    return std::string(comm);
  }
  return std::string(comm.substr(0, last + 1)) + "*";
}

OwnedSampler process_sampler(const sys::Root& root) {
  return std::make_unique<ProcessSampler>(root);
}

OwnedSampler own_sampler(const sys::Root& root) { return std::make_unique<OwnSampler>(root); }

OwnedSampler thread_sampler(const sys::Root& root) { return std::make_unique<ThreadSampler>(root); }

}  // namespace chokepoint::capture::counter
