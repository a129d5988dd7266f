// The newest steps of one source and rank, for figures to look at while the job runs. Fixed
// memory. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/step/step.h"

namespace chokepoint::capture::step {

class RecentSteps {
 public:
  static constexpr std::size_t kMost = 64;

  void take(const Step& step, std::optional<std::int64_t> samples);

  std::int64_t count() const { return count_; }
  std::int64_t last_end_ns() const { return last_.end_ns; }
  double last_ms() const { return last_.ms; }
  std::vector<double> durations_ms() const;
  // Over the time that they took, gaps between them left out; 0 where no step says its samples.
  double samples_per_s() const;

 private:
  struct Entry {
    std::int64_t end_ns = 0;
    double ms = 0;  // of one of the merged
    double busy_s = 0;
    double samples = 0;
  };

  std::size_t held() const;

  std::array<Entry, kMost> ring_ = {};
  std::size_t rows_ = 0;
  std::int64_t count_ = 0;
  Entry last_ = {};
};

}  // namespace chokepoint::capture::step
