// The TCP sockets of one network namespace: finds those that are the job's and samples them. A
// socket goes through
//
//                ┌── held by a process of the job, or by a rule ──▶ Job ── vanished ──▶ Closed
//   Unknown ─────┤                                                   ▲        (its last state
//                └── held by no process of the job, twice ▶ Other ───┘         may still come)
//                                                      the job has grown
//
// and is dropped with its last state, which comes with the kernel's event that it was destroyed.
//
// A connection is sampled every 20 ms while something changes on it, less and less often once
// nothing does, and at last only in the dumps. With more connections than the Budget allows
// samples, the one that has waited longest comes first. The watcher's thread only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/socket/journal.h"
#include "capture/socket/kernel.h"
#include "capture/socket/ownership.h"

namespace chokepoint::capture::socket {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// At most so many samples a second, spread over the second.
class Budget {
 public:
  explicit Budget(std::int64_t most_per_s) : most_per_s_(static_cast<double>(most_per_s)) {}

  void refill(std::int64_t now_ns) {
    const double passed = static_cast<double>(now_ns - std::exchange(at_ns_, now_ns)) / 1e9;
    left_ = std::min(left_ + passed * most_per_s_, std::max(1.0, most_per_s_ * kMaxSaved));
  }
  bool has_room() const { return left_ >= 1; }
  void charge() { --left_; }

 private:
  static constexpr double kMaxSaved = 0.1;  // unused samples are kept for 0.1 s

  double most_per_s_;
  double left_ = 0;
  std::int64_t at_ns_ = 0;
};

// Which connection (by cookie) is due when; each at most once.
class Queue {
 public:
  void add(std::uint64_t cookie, std::int64_t due_ns) { waiting_.emplace(due_ns, cookie); }

  // The one that has been due longest, if any is.
  std::optional<std::uint64_t> take(std::int64_t now_ns) {
    if (waiting_.empty() || waiting_.top().first > now_ns) {
      return std::nullopt;
    }
    const std::uint64_t cookie = waiting_.top().second;
    waiting_.pop();
    return cookie;
  }
  // When the next one is due.
  std::optional<std::int64_t> next_ns() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.top().first);
  }

 private:
  using Waiting = std::pair<std::int64_t, std::uint64_t>;
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting_;
};

// When to sample a connection again that changed last at `changed_ns`; nullopt: only in the dumps.
inline std::optional<std::int64_t> sample_due_ns(std::int64_t now_ns, std::int64_t changed_ns,
                                                 std::int64_t busy_interval_ns) {
  constexpr std::int64_t kIdleShare = 8;  // the interval is 1/8 of the time without a change
  constexpr std::int64_t kMaxIntervalNs = 250'000'000;
  const std::int64_t interval = std::max(busy_interval_ns, (now_ns - changed_ns) / kIdleShare);
  return interval <= std::max(kMaxIntervalNs, busy_interval_ns) ? std::optional(now_ns + interval)
                                                                : std::nullopt;
}

class NetworkWatch {
 public:
  // Further sockets are not sampled.
  static constexpr std::size_t kMaxSockets = 262'144;

  // `began_ns`: of processes that started before it, what their connections did before they were
  // first seen is not counted.
  NetworkWatch(std::unique_ptr<Kernel> kernel, Journal journal, std::int64_t busy_interval_ns,
               std::int64_t began_ns)
      : kernel_(std::move(kernel)),
        journal_(journal),
        busy_interval_ns_(busy_interval_ns),
        began_ns_(began_ns) {}

  Result<> take_destroyed(std::int64_t now_ns);
  Result<> dump(std::int64_t now_ns);
  Result<> sample(std::int64_t now_ns, Budget& budget);
  Result<> sample_all(std::int64_t now_ns);

  // There are sockets whose holder is not known yet.
  bool needs_holders() const { return needs_holders_; }
  // `has_grown`: there are processes that were not there before, or other ranks.
  void assign(const Holders& holders, bool has_grown, std::int64_t now_ns);

  std::optional<std::int64_t> next_sample_ns() const { return queue_.next_ns(); }
  // When a connection came or went.
  std::int64_t changed_ns() const { return changed_ns_; }
  bool has_connections() const { return connections_ > 0; }
  bool is_full() const { return sockets_.size() >= kMaxSockets; }

 private:
  enum class Whose : std::uint8_t { Unknown, Job, Other, Closed };

  struct Socket {
    packet::Ends ends = {};
    std::uint32_t inode = 0;
    Whose whose = Whose::Unknown;
    bool is_listener = false;
    bool needs_holder = false;
    std::uint8_t tries = 0;
    std::uint64_t dump = 0;                       // the last that listed it
    std::unique_ptr<Connection> connection = {};  // of the job's, and of unknown ones
  };
  using Sockets = std::unordered_map<std::uint64_t, Socket>;  // by cookie

  void list(const Reading& reading, std::int64_t now_ns);
  void seek_holder(std::uint64_t cookie, Socket& socket);
  void list_connection(Socket& socket, const Reading& reading, std::int64_t now_ns);
  std::unique_ptr<Connection> connection_of(const Reading& reading, std::int64_t now_ns) const;
  void sweep(std::int64_t now_ns);
  bool is_over(std::uint64_t cookie, Socket& socket, std::int64_t now_ns);

  Result<> sample_due(std::int64_t now_ns, Budget* budget);
  void schedule(Connection& connection, std::int64_t now_ns);

  bool settle(std::uint64_t cookie, const Holders& holders, std::int64_t now_ns);
  bool settle(std::uint64_t cookie, Socket& socket, const job::JobProcess* holder,
              std::int64_t now_ns);
  void update_owner(std::uint64_t cookie, Socket& socket, const Holders& holders);
  void admit(std::uint64_t cookie, Socket& socket, std::optional<std::int64_t> process,
             bool is_older, std::int64_t now_ns);
  Owner owner_of(const Connection& connection, std::optional<std::int64_t> process);

  void take_last_state(const Reading& reading, std::int64_t now_ns);
  void close(Socket& socket, std::int64_t now_ns);
  void hold_unowned(std::unique_ptr<Connection> connection, std::int64_t now_ns);
  bool judge_closed(Connection& connection, std::int64_t now_ns);

  void refresh_interfaces(std::int64_t now_ns);

  std::unique_ptr<Kernel> kernel_;
  Journal journal_;
  const std::int64_t busy_interval_ns_;
  const std::int64_t began_ns_;

  Sockets sockets_;
  std::size_t connections_ = 0;  // of the job
  std::uint64_t dumps_ = 0;
  std::int64_t changed_ns_ = 0;
  Queue queue_;
  Belonging belonging_;
  Interfaces interfaces_;
  std::int64_t interfaces_ns_ = 0;

  bool needs_holders_ = false;
  std::vector<std::uint64_t> unsettled_;              // want a holder
  std::deque<std::uint64_t> closed_;                  // without a last state, the oldest first
  std::vector<std::unique_ptr<Connection>> unowned_;  // closed connections of an unknown owner

  std::vector<std::uint64_t> queried_;  // of one query; a member to keep its storage
  std::vector<Name> names_;
};

}  // namespace chokepoint::capture::socket
