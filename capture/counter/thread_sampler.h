// What the threads of the job's processes do on the CPU, from schedstat: time running, and time
// ready to run while no core was free, which tells a starved receiver. One series for all threads
// of one name in one process, so that a pool of 256 is one.
//
// Gloo and Debian's PyTorch leave their threads the process's own name. Of those the first, which
// runs forward and optimizer, is told apart, and those that were ever found waiting in epoll:
// Gloo's loop, which does all its receiving, is such a one.
//
// Of a job of thousands of threads each call looks at some processes, in turn, so that none takes
// long.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

// "pt_autograd_3" and "pt_autograd_7" are of one kind, "pt_autograd_*"; "python3" is not.
std::string kind_of_thread(std::string_view comm);

class ThreadSampler final : public Sampler {
 public:
  explicit ThreadSampler(sys::Root root) : root_(std::move(root)) {}

  void sample(const Moment& moment, Sink& sink) override;
  void tell(Figures& figures) const override;

 private:
  struct Times {
    std::uint64_t cpu_ns = 0;
    std::uint64_t wait_ns = 0;
  };
  struct Group {
    Counter* cpu = nullptr;
    Counter* wait = nullptr;
    Share* busiest = nullptr;
    Times gone = {};  // of threads that are no more, or are of another group now
    Times sum = {};
    Times before = {};
    std::uint64_t most_ns = 0;  // of one thread, since the reading before
    int threads = 0;
    bool is_told = false;
  };
  struct Thread {
    KeptFile file;
    std::string group = {};
    Times joined = {};  // what it had done when it came to its group
    Times last = {};
    std::int64_t seen_ns = 0;
    int looks = 0;
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
    int told_groups = 0;
    std::int64_t listed_ns = INT64_MIN;
    Busiest busiest = {};
  };

  void forget_processes(const job::JobProcesses& processes);
  void look_at(const job::JobProcess& process, std::int64_t now_ns, Sink& sink);
  void read_thread(Process& process, Thread& thread, pid_t pid, pid_t tid, std::int64_t now_ns);
  std::string group_of(const Process& process, Thread& thread, pid_t pid, pid_t tid) const;
  void list(Process& process, pid_t pid, std::int64_t now_ns);
  std::optional<Times> read_times(Thread& thread, pid_t pid, pid_t tid);
  static void leave(Process& process, Thread& thread);
  static void move_to(Process& process, Thread& thread, const std::string& group);
  static void forget_gone(Process& process, std::int64_t now_ns);
  void write(Process& process, pid_t pid, std::int64_t now_ns, Sink& sink);
  static bool is_told(Process& process, Group& group, const Times& did);
  static void find_series(Group& group, pid_t pid, const std::string& name, Sink& sink);
  void write_group(Process& process, pid_t pid, const std::string& name, Group& group,
                   std::int64_t now_ns, Sink& sink);

  sys::Root root_;
  std::map<pid_t, Process> processes_;
  std::size_t kept_files_ = 0;
  std::string buffer_;
  std::size_t next_ = 0;  // of the job's processes, the one whose turn it is
};

}  // namespace chokepoint::capture::counter
