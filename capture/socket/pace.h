// When which connection is looked at: every 20 ms while something changes on it, more and more
// seldom from when nothing does, and by the dumps alone in the end. With more of them than there
// may be samples, each waits for its turn: the one that has waited longest comes first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

namespace chokepoint::capture::socket {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

// So many samples a second, spread over the second.
class Budget {
 public:
  explicit Budget(std::int64_t most_per_s) : most_per_s_(static_cast<double>(most_per_s)) {}

  void refill(std::int64_t now_ns) {
    const double passed = static_cast<double>(now_ns - std::exchange(at_ns_, now_ns)) / 1e9;
    left_ = std::min(left_ + passed * most_per_s_, std::max(1.0, most_per_s_ * kMostSaved));
  }
  bool has_room() const { return left_ >= 1; }
  void charge() { --left_; }

 private:
  static constexpr double kMostSaved = 0.1;  // seconds' worth

  double most_per_s_;
  double left_ = 0;
  std::int64_t at_ns_ = 0;
};

// By a socket's cookie; each is in it once.
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

// When to look again at a connection on which something changed last at `changed_ns`; nothing: the
// dumps do.
inline std::optional<std::int64_t> look_again(std::int64_t now_ns, std::int64_t changed_ns,
                                              std::int64_t busy_interval_ns) {
  constexpr std::int64_t kIdleFor = 8;  // intervals, before they grow
  constexpr std::int64_t kLongestNs = 250'000'000;
  const std::int64_t interval = std::max(busy_interval_ns, (now_ns - changed_ns) / kIdleFor);
  return interval <= std::max(kLongestNs, busy_interval_ns) ? std::optional(now_ns + interval)
                                                            : std::nullopt;
}

}  // namespace chokepoint::capture::socket
