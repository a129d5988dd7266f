// Notices that a watched job makes no progress, and finds out what each rank and connection of this
// node does then. Costs nothing while steps end.
//
//   progress ─▶ Pause ── near the limit ──▶ RankWatch, each second
//                               at the limit ──▶ event kStall, live line, hook; again now and then
//   progress ─────────────────────────────────▶ event kStall: over
//
// Where the ranks of this node only wait for others, or work, the node alone cannot distinguish a
// stall from an evaluation of rank 0: then it waits for longer before it reports one. Its event is
// written at the limit all the same, for the analysis, which has those of all nodes.
//
// A stall that lasts until the job ends stays one. poll() by one thread, the rest by any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/host/mounts.h"
#include "base/record/samples.h"
#include "base/record/stall.h"
#include "base/record/writer.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "capture/counter/first_thread.h"
#include "capture/job/process.h"
#include "capture/socket/watcher.h"

namespace chokepoint::capture::stall {

// How long a job has made no progress, and how long that may be: steps that end, collectives that
// end, or its usual traffic where steps are known by nothing else. Pauses that it made before, for
// a checkpoint or an evaluation, it may make again.
//
//   step ─ step ─ step ────────────── 5 usual steps, 10 s ──▶ the limit ─── 6 limits ──▶ deadline
//                                     1.5 times the longest pause before
class Pause {
 public:
  explicit Pause(std::int64_t least_ns) : least_ns_(least_ns) {}

  // `steps` that have ended, and how long they usually take; no stall is reported before the job
  // has made some.
  void note_steps(std::int64_t steps, double usual_ms) {
    steps_ = steps;
    usual_ms_ = usual_ms;
  }
  // Moments before the last one change nothing.
  void note_progress(std::int64_t at_ns) {
    if (since_ns_ != 0 && steps_ >= kMinSteps && at_ns > since_ns_) {
      longest_ns_ = std::max(longest_ns_, at_ns - since_ns_);
    }
    since_ns_ = std::max(since_ns_, at_ns);
  }

  bool is_known() const { return steps_ >= kMinSteps && since_ns_ != 0; }
  std::int64_t since_ns() const { return since_ns_; }
  std::int64_t length_ns(std::int64_t now_ns) const { return is_known() ? now_ns - since_ns_ : 0; }
  double usual_ms() const { return usual_ms_; }

  std::int64_t limit_ns() const {
    return std::max({least_ns_, static_cast<std::int64_t>(kUsualSteps * usual_ms_ * 1e6),
                     longest_ns_ + longest_ns_ / 2});
  }
  // For a job of which some rank works all the same.
  std::int64_t patience_ns() const { return kLimits * limit_ns(); }
  // From here on it is worth looking closely, so that at the limit something is known.
  std::int64_t attentive_ns() const { return std::max(limit_ns() - kAheadNs, limit_ns() / 3); }

 private:
  static constexpr std::int64_t kMinSteps = 5;
  static constexpr double kUsualSteps = 5;
  static constexpr std::int64_t kLimits = 6;
  static constexpr std::int64_t kAheadNs = 6'000'000'000;

  std::int64_t least_ns_;
  std::int64_t since_ns_ = 0;
  std::int64_t longest_ns_ = 0;
  std::int64_t steps_ = 0;
  double usual_ms_ = 0;
};

// What one rank does while its job makes no progress: its first thread, those of its helpers, and
// what all of them did between two samples, a second apart. A hang differs from work by its traces:
// calls, page faults, bytes read and written, context switches of the first thread.
//
//   no processor            sleeps; or stopped, or waits for a file without a byte of it
//   a processor, no trace   spins: an endless loop, a library that polls, or bare computing
//   a processor and traces  works: an evaluation, a compiler
//   bytes of files          works: a checkpoint
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
  std::vector<host::Mount> mounts_;
  std::deque<Traces> samples_;
  std::string buffer_;
};

struct Options {
  std::int64_t after_ns = 10'000'000'000;
  // A shell's command for the moment in which the job is found to stand; empty: none.
  std::string hook = {};
  std::string node = {};
  std::string record = {};  // its folder, for the hook
};

// For the live line and the metrics.
struct Figures {
  record::StallState state = record::StallState::Over;
  double for_s = 0;
  std::string what = {};  // "rank 3 is stopped"
};

struct Moment {
  std::int64_t now_ns = 0;
  std::int64_t steps = 0;
  double usual_ms = 0;
  std::int64_t newest_step_ns = 0;
  bool is_traffic_usual = false;  // and steps are known by that alone
  const job::JobProcesses& processes;
  const std::vector<socket::Silent>& silent;
};

class Monitor {
 public:
  // Root and writer outlive it.
  Monitor(Options options, const sys::Root& root, record::Writer& writer);

  // A collective has ended.
  void note_over(const record::Collective& row);
  // One has been quiet and has not ended; of this process, by record::Process::id.
  void note_waiting(const record::Collective& row, std::int64_t process);
  // The newest of each kind and communicator that a process has asked NCCL for.
  void note_asked(pid_t pid, std::span<const record::Collective> newest);

  // Some times a second.
  void poll(const Moment& moment);
  Figures figures() const;

 private:
  struct Part {
    std::int64_t flow = 0;
    record::StallCollective collective = {};
    std::int64_t start_ns = 0;
  };
  using Parts = std::deque<Part>;

  void end_stall(const Moment& moment);
  void follow(const Moment& moment);
  void sample_ranks(const Moment& moment);
  record::Stall seen(const Moment& moment);
  void add_collectives(record::StallRank& report, std::int64_t process);
  void add_asked(record::StallRank& report) const;
  record::StallState state_of(const record::Stall& stall, std::int64_t length_ns) const;
  void keep(const record::Stall& stall, std::int64_t now_ns);
  void run_hook(const record::Stall& stall, double for_s);

  Options options_;
  const sys::Root& root_;
  record::Writer& writer_;
  Pause pause_;
  std::map<pid_t, std::unique_ptr<RankWatch>> ranks_;
  std::int64_t sampled_ns_ = 0;
  std::int64_t kept_ns_ = 0;
  int kept_ = 0;  // events of this stall
  std::optional<sys::Process> hook_;
  mutable std::mutex mutex_;             // what follows
  std::map<std::int64_t, Parts> parts_;  // by process
  std::map<pid_t, std::vector<record::StallCollective>> asked_;
  std::int64_t newest_ns_ = 0;  // the end of a collective
  std::int64_t over_ = 0;       // collectives
  Figures figures_;
};

// The text for people about a node's part in it.
std::string words_of(const record::Stall& stall);

}  // namespace chokepoint::capture::stall
