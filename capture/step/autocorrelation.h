// How alike a series is to itself some bins later: 1 is the same, 0 is chance. By Fourier
// transform. Plans are made once a length. One thread.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace chokepoint::capture::step {

class Autocorrelation {
 public:
  explicit Autocorrelation(std::size_t most_bins);
  ~Autocorrelation();

  // For each lag up to `most_lag`, over the bins that overlap. The series' mean should be 0.
  std::vector<float> of(std::span<const float> series, std::size_t most_lag);

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace chokepoint::capture::step
