// The job's bytes over time, in bins of several lengths. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chokepoint::capture::step {

// Bytes over time, in rings of bins: a millisecond each at level 0, twice as long at each further
// level, a second at the last. So the newest 4 s are known to the millisecond and the newest hour
// to the second, in fixed memory.
class BinnedTraffic {
 public:
  static constexpr std::size_t kLevels = 11;
  static constexpr std::int64_t kBins = 4'096;

  static constexpr std::int64_t bin_ns(std::size_t level) {
    return std::int64_t{1'000'000} << level;
  }

  // A time may be earlier than the one before, as long as its bin is still held. None is below 0.
  void add(std::int64_t t_ns, std::uint64_t bytes) {
    if (t_ns / bin_ns(0) != pending_bin_) {
      flush();
      pending_bin_ = t_ns / bin_ns(0);
    }
    pending_ += static_cast<double>(bytes);
  }
  void flush();

  struct Span {
    std::int64_t begin_ns = 0;  // of the first bin
    std::vector<float> bins = {};
  };
  // The newest complete bins, at most `bins`.
  Span newest(std::size_t level, std::int64_t bins) const;
  std::int64_t newest_ns() const { return newest_ns_; }
  // By the finest bins that still hold this time.
  double bytes_between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  struct Ring {
    std::int64_t end = 0;  // number of the newest bin, plus one
    std::vector<float> bins = std::vector<float>(kBins);
  };

  void add(std::size_t level, std::int64_t t_ns, float bytes);

  std::array<Ring, kLevels> rings_;
  std::int64_t pending_bin_ = -1;
  double pending_ = 0;
  std::int64_t oldest_ns_ = -1;
  std::int64_t newest_ns_ = -1;
};

// The mean of `width` bins around each bin; at both ends, of those that exist.
std::vector<float> box_mean(std::span<const float> series, std::size_t width);
// No bin above some times the mean of the bins with traffic: one burst must not outweigh all
// others.
std::vector<float> clipped(std::span<const float> series);

}  // namespace chokepoint::capture::step
