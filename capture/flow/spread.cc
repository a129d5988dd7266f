#include "capture/flow/spread.h"

#include <algorithm>

namespace chokepoint::capture::flow {

std::uint8_t Spread::make_block() {
  blocks_.emplace_back();
  share_.grow(sizeof(Block));
  return static_cast<std::uint8_t>(blocks_.size() - 1);
}

double Spread::quantile(double share) const {
  const double wanted = share * static_cast<double>(count_);
  double seen = 0;
  for (std::size_t doubling = 0; doubling < kDoublings; ++doubling) {
    if (index_of_[doubling] == kNone) {
      continue;
    }
    const Block& block = blocks_[index_of_[doubling]];
    for (std::size_t i = 0; i < kPerDoubling; ++i) {
      seen += block[i];
      if (block[i] > 0 && seen >= wanted) {
        const auto low = static_cast<double>(((kPerDoubling + i) << doubling) - kPerDoubling);
        const auto width = static_cast<double>(std::uint64_t{1} << doubling);
        return std::clamp(low + (width - 1) / 2, static_cast<double>(min_),
                          static_cast<double>(max_));
      }
    }
  }
  return static_cast<double>(max_);
}

math::Distribution Spread::distribution(double scale) const {
  if (count_ == 0) {
    return {};
  }
  return {.min = static_cast<double>(min_) * scale,
          .median = quantile(0.5) * scale,
          .p99 = quantile(0.99) * scale,
          .max = static_cast<double>(max_) * scale,
          .mean = sum_ / static_cast<double>(count_) * scale,
          .count = count_};
}

}  // namespace chokepoint::capture::flow
