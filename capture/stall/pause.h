// How long a job has made no progress, and how long that may be: steps that end, collectives that
// end, or its usual traffic where steps are known by nothing else. Pauses that it made before, for
// a checkpoint or an evaluation, it may make again. A value; the watch's thread.
//
//   step ─ step ─ step ────────────── 5 usual steps, 10 s ──▶ the limit ─── 6 limits ──▶ patience
//                                     1.5 times the longest pause before
#pragma once

#include <algorithm>
#include <cstdint>

namespace chokepoint::capture::stall {

class Pause {
 public:
  explicit Pause(std::int64_t least_ns) : least_ns_(least_ns) {}

  // `steps` that have ended, and how long they usually take; nothing is said of a job before it has
  // made some.
  void note_steps(std::int64_t steps, double usual_ms) {
    steps_ = steps;
    usual_ms_ = usual_ms;
  }
  // Moments before the last one change nothing.
  void note_progress(std::int64_t at_ns) {
    if (since_ns_ != 0 && steps_ >= kLeastSteps && at_ns > since_ns_) {
      longest_ns_ = std::max(longest_ns_, at_ns - since_ns_);
    }
    since_ns_ = std::max(since_ns_, at_ns);
  }

  bool is_known() const { return steps_ >= kLeastSteps && since_ns_ != 0; }
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
  static constexpr std::int64_t kLeastSteps = 5;
  static constexpr double kUsualSteps = 5;
  static constexpr std::int64_t kLimits = 6;
  static constexpr std::int64_t kAheadNs = 6'000'000'000;

  std::int64_t least_ns_;
  std::int64_t since_ns_ = 0;
  std::int64_t longest_ns_ = 0;
  std::int64_t steps_ = 0;
  double usual_ms_ = 0;
};

}  // namespace chokepoint::capture::stall
