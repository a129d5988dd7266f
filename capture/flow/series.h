// Measurements of one direction in bounded memory: over time (Series of Bins), and as a
// distribution (Spread). Owned by a Half, used by the engine's thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "base/math/statistics.h"
#include "capture/flow/budget.h"

namespace chokepoint::capture::flow {

inline constexpr std::uint32_t kNoSample = 0xffffffff;

struct Bin {
  std::int64_t start_ns = 0;
  std::int64_t width_ns = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t rtt_sum_us = 0;
  std::uint32_t rtt_samples = 0;
  std::uint32_t min_rtt_us = kNoSample;
  std::uint32_t packets = 0;
  std::uint32_t retransmitted_packets = 0;
  std::uint32_t retransmitted_bytes = 0;
  std::uint32_t out_of_order = 0;
  std::uint32_t duplicate_acks = 0;
  std::uint32_t zero_windows = 0;
  std::uint32_t window_full = 0;
  std::uint32_t congestion_marks = 0;
  std::uint32_t max_in_flight_bytes = 0;
  std::uint32_t window_bytes = kNoSample;      // this side's, scaled: the last
  std::uint32_t min_window_bytes = kNoSample;  // the smallest

  std::int64_t end_ns() const { return start_ns + width_ns; }
  void add(const Bin& later);
};

// Bins of 10 ms. If there are too many, the older half is folded in pairs, and again as it ages.
// Empty bins take no room.
class Series {
 public:
  static constexpr std::int64_t kWidthNs = 10'000'000;
  static constexpr std::size_t kMaxBins = 512;

  explicit Series(Budget& budget) : share_(budget) {}

  // The bin of this time; the newest bin if the clock stepped back.
  Bin& at(std::int64_t time_ns) { return time_ns < newest_end_ns_ ? *newest_ : add(time_ns); }

  const std::vector<Bin>& bins() const { return bins_; }
  // Calls `see` for bins that ended since the last call; `all`: for the newest, too.
  void drain(bool all, const std::function<void(const Bin&)>& see);

 private:
  Bin& add(std::int64_t time_ns);
  void fold();

  std::vector<Bin> bins_;
  Bin* newest_ = nullptr;  // the last of bins_, and its end
  std::int64_t newest_end_ns_ = std::numeric_limits<std::int64_t>::min();
  std::int64_t drained_ns_ = 0;  // bins that start before it were handed out
  Share share_;
};

// A distribution within 1.6 %: a block of 32 counters for each power of two that occurred. For
// round trips in nanoseconds and bytes in flight of every flow. base/math's histogram is finer, but
// takes 59 KB.
class Spread {
 public:
  explicit Spread(Budget& budget) : share_(budget) {}

  void add(std::uint64_t value) {
    // Shifted by one block, so that each small value has its own counter.
    const std::uint64_t kept = value + kPerDoubling;
    const auto doubling = static_cast<std::size_t>(std::bit_width(kept)) - 1 - kFinestBit;
    std::uint8_t& index = index_of_[doubling];
    if (index == kNone) {
      index = make_block();
    }
    ++blocks_[index][(kept >> doubling) & (kPerDoubling - 1)];
    ++count_;
    sum_ += static_cast<double>(value);
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return min_; }
  double quantile(double share) const;
  // Each value times `scale`.
  math::Distribution distribution(double scale) const;

 private:
  static constexpr std::size_t kFinestBit = 5;
  static constexpr std::size_t kPerDoubling = std::size_t{1} << kFinestBit;
  static constexpr std::size_t kDoublings = 64 - kFinestBit;
  static constexpr std::uint8_t kNone = 0xff;
  using Block = std::array<std::uint32_t, kPerDoubling>;

  std::uint8_t make_block();

  std::array<std::uint8_t, kDoublings> index_of_ = [] {
    std::array<std::uint8_t, kDoublings> none{};
    none.fill(kNone);
    return none;
  }();
  std::vector<Block> blocks_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = ~std::uint64_t{0};
  std::uint64_t max_ = 0;
  double sum_ = 0;
  Share share_;
};

}  // namespace chokepoint::capture::flow
