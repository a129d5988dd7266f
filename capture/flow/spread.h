// How a quantity was distributed, within 1.6 %, in little room: a block of 32 counters for each
// doubling that occurred, made when it first does. For round trips in nanoseconds and bytes in
// flight, of every flow. base/math's histogram is finer and takes 59 KB. One thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/math/statistics.h"
#include "capture/flow/budget.h"

namespace chokepoint::capture::flow {

class Spread {
 public:
  explicit Spread(Budget& budget) : share_(budget) {}

  void add(std::uint64_t value) {
    // Moved up by one block, so that small values have counters of their own.
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
