// Bytes over time, in rings of bins: a millisecond each in the finest, twice as long in the next,
// a second in the coarsest. So the newest 4 s are known to the millisecond, the newest hour to the
// second, in fixed memory. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chokepoint::capture::step {

class BinnedTraffic {
 public:
  static constexpr std::size_t kLevels = 11;
  static constexpr std::int64_t kBins = 4'096;

  static constexpr std::int64_t bin_ns(std::size_t level) {
    return std::int64_t{1'000'000} << level;
  }

  BinnedTraffic();

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
  // What has passed by the newest traffic, at most so many whole bins.
  Span newest(std::size_t level, std::int64_t bins) const;
  std::int64_t newest_ns() const { return newest_ns_; }
  // As exact as is still known.
  double bytes_between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  struct Ring {
    std::int64_t end = 0;  // the newest bin's number and one
    std::vector<float> bins = std::vector<float>(kBins);
  };

  void add(std::size_t level, std::int64_t t_ns, float bytes);

  std::array<Ring, kLevels> rings_;
  std::int64_t pending_bin_ = -1;
  double pending_ = 0;
  std::int64_t oldest_ns_ = -1;
  std::int64_t newest_ns_ = -1;
};

}  // namespace chokepoint::capture::step
