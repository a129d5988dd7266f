// Signals that came to chokepoint and may have to be passed on, so that the job gets each as often
// as it would alone. A sender that signals all processes of a step or a cgroup has signalled the
// job, too. One that signals chokepoint's process group would have signalled the job's whole
// group. One that signals chokepoint alone would have signalled the job's first process alone.
//
//   t_ns                 hold(): a signal has come to chokepoint
//     │  note(): a witness in the job's group has it, too ─────▶ the job has it: dropped
//   t_ns + kSpread       query(): the witnesses have reported all that came to them so far?
//     │  settle(): they have replied, or did not for kReplyTimeout
//     ▼                  a witness in chokepoint's group has it, too ─▶ the job's whole group
//                        none has it ────────────────────────────────▶ the job's first process
//
// Signals are the same where number, code and sender are; SIGHUP of a terminal that ends has two
// senders. A value without threads.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/sys/signals.h"

namespace chokepoint::capture::job {

enum class WitnessedGroup : std::int32_t { Jobs, Own };

struct Delivery {
  int number = 0;
  bool to_whole_group = false;
  bool operator==(const Delivery&) const = default;
};

class HeldSignals {
 public:
  // A sender signals one process after the other, and may be interrupted meanwhile: that far apart
  // its signals are one event (docs/internals/run-job.md).
  static constexpr std::chrono::nanoseconds kSpread = std::chrono::milliseconds(200);
  // `timeout` signals its child, and then the group that both are in: two that come so soon after
  // each other are one, as two are that the kernel has not yet handed over.
  static constexpr std::chrono::nanoseconds kMerged = std::chrono::milliseconds(10);
  // A witness replies at once, unless it is stopped or the host is overloaded: a judgement.
  static constexpr std::chrono::nanoseconds kReplyTimeout = std::chrono::seconds(1);

  explicit HeldSignals(pid_t own) : own_(own) {}

  void hold(const sys::Signal& signal, std::int64_t now_ns);
  void note(WitnessedGroup group, const sys::Signal& signal, std::int64_t t_ns);

  // The query that all witnesses are to be sent now; nothing if nothing is due.
  std::optional<std::uint32_t> query(std::int64_t now_ns);
  // What is to be passed on, in the order in which it came. `replied`: the last query to which all
  // living witnesses replied, or kAllReplied without any. Without a witness in chokepoint's group
  // everything goes to the job's whole group.
  std::vector<Delivery> settle(std::int64_t now_ns, std::uint32_t replied, bool is_own_witnessed);
  static constexpr std::uint32_t kAllReplied = UINT32_MAX;

  // When query() or settle() are to be called next; nothing if nothing is held.
  std::optional<std::int64_t> next_ns() const;

 private:
  struct Held {
    sys::Signal signal = {};
    std::int64_t t_ns = 0;
    bool is_groups = false;   // chokepoint's group got it
    std::uint32_t query = 0;  // 0: none was sent yet
  };
  struct Noted {
    WitnessedGroup group = WitnessedGroup::Jobs;
    sys::Signal signal = {};
    std::int64_t t_ns = 0;
  };

  pid_t own_;
  std::deque<Held> held_ = {};
  std::deque<Noted> noted_ = {};  // those of the last kSpread
  std::uint32_t last_query_ = 0;
};

}  // namespace chokepoint::capture::job
