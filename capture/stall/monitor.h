// Notices that a watched job makes no progress, and finds out what each rank and connection of this
// node does then. Costs nothing while steps end.
//
//   progress ─▶ Pause ── near the limit ──▶ RankWatch, each second
//                               at the limit ──▶ event kStall, live line, hook; again now and then
//                                            └──▶ StackTaker
//   progress ─────────────────────────────────▶ event kStall: over
//
// Where the ranks of this node only wait for others, or work, the node alone cannot distinguish a
// stall from an evaluation of rank 0: then it waits for longer before it reports one. Its event is
// written at the limit all the same, for the analysis, which has those of all nodes.
//
// A stall that lasts until the job ends stays one. poll() by one thread, the rest by any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/record/samples.h"
#include "base/record/stall.h"
#include "base/record/writer.h"
#include "base/sys/process.h"
#include "base/sys/root.h"
#include "capture/job/process.h"
#include "capture/socket/watcher.h"
#include "capture/stall/pause.h"
#include "capture/stall/rank_watch.h"
#include "capture/stall/stack_taker.h"

namespace chokepoint::capture::stall {

struct Options {
  std::int64_t after_ns = 10'000'000'000;
  // A shell's command for the moment in which the job is found to stand; empty: none.
  std::string hook = {};
  bool takes_stacks = false;  // of the ranks, into the record
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
  // The newest of each kind and communicator that a process has enqueued by NCCL.
  void note_enqueued(pid_t pid, std::span<const record::Collective> newest);

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
  void add_enqueued(record::StallRank& report) const;
  record::StallState state_of(const record::Stall& stall, std::int64_t length_ns) const;
  void write_event(const record::Stall& stall, std::int64_t now_ns);
  void run_hook(const record::Stall& stall, double for_s);

  Options options_;
  const sys::Root& root_;
  record::Writer& writer_;
  Pause pause_;
  std::map<pid_t, std::unique_ptr<RankWatch>> ranks_;
  std::int64_t sampled_ns_ = 0;
  std::int64_t event_ns_ = 0;
  int events_ = 0;  // events of this stall
  std::optional<sys::Process> hook_;
  std::optional<StackTaker> stacks_;
  mutable std::mutex mutex_;             // what follows
  std::map<std::int64_t, Parts> parts_;  // by process
  std::map<pid_t, std::vector<record::StallCollective>> enqueued_;
  std::int64_t newest_ns_ = 0;  // the end of a collective
  std::int64_t over_ = 0;       // collectives
  Figures figures_;
};

// The text for people about a node's part in it.
std::string words_of(const record::Stall& stall);

}  // namespace chokepoint::capture::stall
