#include "base/math/histogram.h"

#include <algorithm>
#include <bit>

namespace chokepoint::math {

// Below 2 * kPerDoubling a bucket holds one value. Above, the top kPrecisionBits after the leading
// one choose the bucket within a doubling.
std::size_t Histogram::bucket_of(std::uint64_t value) {
  const int width = static_cast<int>(std::bit_width(value));
  if (width <= kPrecisionBits + 1) {
    return value;
  }
  const int shift = width - kPrecisionBits - 1;
  const std::uint64_t within = (value >> shift) - kPerDoubling;
  return static_cast<std::size_t>(shift + 1) * kPerDoubling + within;
}

double Histogram::middle_of(std::size_t bucket) {
  const std::size_t doubling = bucket / kPerDoubling;
  const auto within = static_cast<double>(bucket % kPerDoubling);
  if (doubling == 0) {
    return within;
  }
  const double width = static_cast<double>(std::uint64_t{1} << (doubling - 1));
  return (static_cast<double>(kPerDoubling) + within) * width + (width - 1) / 2;
}

void Histogram::add(std::uint64_t value, std::uint64_t times) {
  buckets_[bucket_of(value)] += times;
  count_ += times;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) {
    buckets_[i] += other.buckets_[i];
  }
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double Histogram::quantile(double share) const {
  if (count_ == 0) {
    return 0;
  }
  // As many values as the share needs, and at least one: of two values the 99th percentile is the
  // larger.
  const double needed = std::max(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_), 1.0);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (static_cast<double>(seen) >= needed) {
      return std::clamp(middle_of(i), static_cast<double>(min_), static_cast<double>(max_));
    }
  }
  return static_cast<double>(max_);
}

Distribution Histogram::distribution(double unit) const {
  if (count_ == 0) {
    return {};
  }
  return {.min = static_cast<double>(min_) / unit,
          .median = quantile(0.5) / unit,
          .p99 = quantile(0.99) / unit,
          .max = static_cast<double>(max_) / unit,
          .mean = mean() / unit,
          .count = count_};
}

}  // namespace chokepoint::math
