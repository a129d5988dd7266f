// How long a job has made no progress, and how long that may be: steps that end, collectives that
// end, or its usual traffic where steps are known by nothing else. Pauses that it made before, for
// a checkpoint or an evaluation, it may make again.
//
//   step ─ step ─ step ────────────── 5 usual steps, 10 s ──▶ the limit ─── 6 limits ──▶ deadline
//                                     1.5 times the longest pause before
#pragma once

#include <algorithm>
#include <cstdint>

namespace chokepoint::capture::stall {

class Pause {
 public:
  explicit Pause(std::int64_t min_limit_ns) : min_limit_ns_(min_limit_ns) {}

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
    return std::max({min_limit_ns_, static_cast<std::int64_t>(kStepsPerLimit * usual_ms_ * 1e6),
                     longest_ns_ + longest_ns_ / 2});
  }
  // From here on a job stands although some rank works.
  std::int64_t working_limit_ns() const { return kWorkingLimits * limit_ns(); }
  // From here on ranks are sampled, so that at the limit it is known what they do.
  std::int64_t sampling_start_ns() const {
    return std::max(limit_ns() - kSampledBeforeNs, limit_ns() / 3);
  }

 private:
  // docs/internals/run-stalls.md, "When a job stands".
  static constexpr std::int64_t kMinSteps = 5;
  static constexpr double kStepsPerLimit = 5;
  static constexpr std::int64_t kWorkingLimits = 6;
  static constexpr std::int64_t kSampledBeforeNs = 6'000'000'000;

  std::int64_t min_limit_ns_;
  std::int64_t since_ns_ = 0;
  std::int64_t longest_ns_ = 0;
  std::int64_t steps_ = 0;
  double usual_ms_ = 0;
};

}  // namespace chokepoint::capture::stall
