// A log-linear histogram: buckets double in width every 128 of them, so a value is known within
// 0.8 % whatever its size, in fixed memory. For latencies in nanoseconds. add() neither allocates
// nor branches on history. Not synchronised: one a thread, merged afterwards.
#pragma once

#include <array>
#include <cstdint>

#include "base/math/statistics.h"

namespace chokepoint::math {

class Histogram {
 public:
  void add(std::uint64_t value) { add(value, 1); }
  void add(std::uint64_t value, std::uint64_t times);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  double mean() const;

  // The value below which this share (0..1) of all values lies; 0 of an empty histogram. Exact at
  // both ends.
  double quantile(double share) const;
  // Every value divided by `unit`: 1e6 turns nanoseconds into milliseconds.
  Distribution distribution(double unit = 1) const;

 private:
  static constexpr int kPrecisionBits = 7;
  static constexpr std::size_t kPerDoubling = std::size_t{1} << kPrecisionBits;
  static constexpr std::size_t kBuckets = (64 - kPrecisionBits + 1) * kPerDoubling;

  static std::size_t bucket_of(std::uint64_t value);
  static double middle_of(std::size_t bucket);

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace chokepoint::math
