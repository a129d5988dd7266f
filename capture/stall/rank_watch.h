// What one rank does while its job makes no progress: its first thread, those of its helpers, and
// what all of them did between two samples, a second apart. A hang differs from work by its traces:
// calls, page faults, bytes read and written, context switches of the first thread.
//
//   no processor            sleeps; or stopped, or waits for a file without a byte of it
//   a processor, no trace   spins: an endless loop, a library that polls, or bare computing
//   a processor and traces  works: an evaluation, a compiler
//   bytes of files          works: a checkpoint
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/host/mounts.h"
#include "base/record/stall.h"
#include "base/sys/root.h"
#include "capture/counter/first_thread.h"
#include "capture/job/process.h"

namespace chokepoint::capture::stall {

class RankWatch {
 public:
  RankWatch(const sys::Root& root, const job::JobProcess& rank);

  const job::JobProcess& process() const { return process_; }
  // `helpers`: the pids of now.
  void sample(const sys::Root& root, const std::vector<pid_t>& helpers, std::int64_t now_ns);
  // Without what follows from its collectives. Valid once it was sampled for some seconds.
  record::StallRank report(const sys::Root& root, std::int64_t now_ns);
  bool is_known() const;

 private:
  // Sums of the rank and its helpers since they began, with those that have ended.
  struct Traces {
    std::int64_t t_ns = 0;
    std::uint64_t cpu_ns = 0;
    std::uint64_t calls = 0;  // of files, page faults, turns of the first thread
    std::uint64_t bytes = 0;  // of files
  };
  struct Thread {
    counter::FirstThread thread;
    counter::Doing doing = counter::Doing::Sleeps;
    std::int64_t since_ns = 0;
  };

  static void note(Thread& thread, counter::Doing doing, std::int64_t now_ns);
  void add_traces(const sys::Root& root, pid_t pid, bool is_rank, Traces& traces);
  record::RankDoes does(bool& is_by_helper, std::int64_t now_ns) const;
  Thread& hanging(bool is_helper);

  job::JobProcess process_;
  Thread first_;
  std::map<pid_t, Thread> helpers_;
  host::ProcessMounts mounts_;
  std::deque<Traces> samples_;
  std::string buffer_;
};

}  // namespace chokepoint::capture::stall
