#include "capture/step/recent_steps.h"

#include <algorithm>

namespace chokepoint::capture::step {

void RecentSteps::take(const Step& step, std::optional<std::int64_t> samples) {
  const auto busy_ns = static_cast<double>(step.busy_ns.value_or(step.end_ns - step.start_ns));
  last_ = {.end_ns = step.end_ns,
           .ms = busy_ns / static_cast<double>(step.merged) / 1e6,
           .busy_s = busy_ns / 1e9,
           .samples = static_cast<double>(samples.value_or(0))};
  ring_[rows_ % kMost] = last_;
  ++rows_;
  count_ += step.merged;
}

std::size_t RecentSteps::held() const { return std::min(rows_, kMost); }

std::vector<double> RecentSteps::durations_ms() const {
  std::vector<double> durations;
  for (std::size_t i = 0; i < held(); ++i) {
    durations.push_back(ring_[i].ms);
  }
  return durations;
}

double RecentSteps::samples_per_s() const {
  double samples = 0;
  double seconds = 0;
  for (std::size_t i = 0; i < held(); ++i) {
    samples += ring_[i].samples;
    seconds += ring_[i].busy_s;
  }
  return seconds > 0 ? samples / seconds : 0;
}

}  // namespace chokepoint::capture::step
