// When a direction had data outstanding, and what kept it waiting meanwhile: time is added up
// between packets under what held since the last one. A clock that steps back adds nothing. A
// value.
#pragma once

#include <algorithm>
#include <cstdint>

namespace chokepoint::capture::flow {

// Longer silences of a sender whose acknowledgements are not seen count as idle.
inline constexpr std::int64_t kUnansweredIdleNs = 200'000'000;

class Activity {
 public:
  struct State {
    bool is_busy = false;            // data is outstanding
    bool is_window_limited = false;  // and the peer's window has no room for another segment
    bool is_window_closed = false;   // the peer's window is 0
    bool is_unanswered = false;      // the peer's side is not seen: busy ends with the next silence
  };

  // Returns true where a busy period begins.
  bool move(std::int64_t time_ns, State state) {
    const std::int64_t passed = is_begun_ ? std::max<std::int64_t>(time_ns - last_ns_, 0) : 0;
    const bool was_busy = state_.is_busy && (!state_.is_unanswered || passed < kUnansweredIdleNs);
    if (was_busy) {
      busy_ns_ += passed;
      window_limited_ns_ += state_.is_window_limited ? passed : 0;
      idle_ns_ = 0;
    } else if (was_ever_busy_) {
      idle_ns_ += passed;
      longest_idle_ns_ = std::max(longest_idle_ns_, idle_ns_);
    }
    closed_ns_ += state_.is_window_closed ? passed : 0;
    state_ = state;
    last_ns_ = is_begun_ ? std::max(last_ns_, time_ns) : time_ns;
    is_begun_ = true;
    was_ever_busy_ |= state.is_busy;
    return state.is_busy && !was_busy;
  }

  std::int64_t busy_ns() const { return busy_ns_; }
  std::int64_t window_limited_ns() const { return window_limited_ns_; }
  std::int64_t closed_ns() const { return closed_ns_; }
  std::int64_t longest_idle_ns() const { return longest_idle_ns_; }

 private:
  State state_{};
  bool is_begun_ = false;
  bool was_ever_busy_ = false;
  std::int64_t last_ns_ = 0;
  std::int64_t busy_ns_ = 0;
  std::int64_t window_limited_ns_ = 0;
  std::int64_t closed_ns_ = 0;
  std::int64_t idle_ns_ = 0;
  std::int64_t longest_idle_ns_ = 0;
};

}  // namespace chokepoint::capture::flow
