#include "capture/step/burst_track.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "capture/step/smooth.h"

namespace chokepoint::capture::step {
namespace {

constexpr double kMostBinsAPeriod = 56;
constexpr double kTightness = 40;     // what a distance that is e times the period costs
constexpr double kShortestGap = 0.5;  // of the period
constexpr double kLongestGap = 1.6;
constexpr double kLeastOfMedian = 0.25;  // a rise that is less is none

std::vector<float> deviations(std::vector<float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * value;
  }
  const auto unit =
      static_cast<float>(std::sqrt(squares / std::max(1.0, static_cast<double>(values.size()))));
  std::ranges::for_each(values, [unit](float& value) { value /= unit > 0 ? unit : 1; });
  return values;
}

// What comes in the eighth of a period from here, less what usually came in the third before: of
// equal bursts the one after the longest quiet counts most.
std::vector<float> rises(const std::vector<float>& bins, double period) {
  const auto after = static_cast<std::size_t>(std::max(2.0, period / 8));
  const auto before = static_cast<std::size_t>(std::max(2.0, period / 3));
  std::vector<double> sums(bins.size() + 1);
  std::partial_sum(bins.begin(), bins.end(), sums.begin() + 1, std::plus<double>());
  std::vector<float> result(bins.size());
  const double share = static_cast<double>(after) / static_cast<double>(before);
  for (std::size_t i = before; i + after <= bins.size(); ++i) {
    const double rise = sums[i + after] - sums[i] - (sums[i] - sums[i - before]) * share;
    result[i] = static_cast<float>(std::max(rise, 0.0));
  }
  return deviations(std::move(result));
}

class Way {
 public:
  Way(const std::vector<float>& rises, double period)
      : rises_(rises), score_(rises.size()), before_(rises.size(), kNone) {
    const auto shortest = static_cast<std::size_t>(period * kShortestGap);
    for (std::size_t gap = 0; static_cast<double>(gap) <= period * kLongestGap; ++gap) {
      const double off = gap >= shortest ? std::log(static_cast<double>(gap) / period) : 0;
      cost_.push_back(static_cast<float>(kTightness * off * off));
    }
    for (std::size_t i = 0; i < rises.size(); ++i) {
      score_[i] = rises[i];
      for (std::size_t gap = shortest; gap < cost_.size() && gap <= i; ++gap) {
        const float score = rises[i] + score_[i - gap] - cost_[gap];
        if (score > score_[i]) {
          score_[i] = score;
          before_[i] = i - gap;
        }
      }
    }
  }

  std::vector<std::size_t> places() const {
    const std::size_t last_part = score_.size() - std::min(score_.size(), cost_.size());
    auto at = static_cast<std::size_t>(
        std::max_element(score_.begin() + static_cast<std::ptrdiff_t>(last_part), score_.end()) -
        score_.begin());
    std::vector<std::size_t> places;
    for (; at < score_.size(); at = before_[at]) {
      places.push_back(at);
    }
    std::ranges::reverse(places);
    return without_weak(places);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::size_t> without_weak(std::vector<std::size_t> places) const {
    std::vector<float> heights;
    for (const std::size_t place : places) {
      heights.push_back(rises_[place]);
    }
    std::ranges::sort(heights);
    const float least = heights.empty() ? 0 : heights[heights.size() / 2] * float{kLeastOfMedian};
    std::erase_if(places, [&](std::size_t place) { return rises_[place] <= least; });
    return places;
  }

  const std::vector<float>& rises_;
  std::vector<float> cost_;
  std::vector<float> score_;
  std::vector<std::size_t> before_;
};

double exact_place(const std::vector<float>& rises, std::size_t at) {
  if (at == 0 || at + 1 >= rises.size()) {
    return static_cast<double>(at);
  }
  const double bend = rises[at - 1] - 2.0 * rises[at] + rises[at + 1];
  const double off = bend < 0 ? (rises[at - 1] - rises[at + 1]) / (2 * bend) : 0;
  return static_cast<double>(at) + std::clamp(off, -0.5, 0.5);
}

}  // namespace

std::size_t level_of(double period_ns) {
  std::size_t level = 0;
  while (level + 1 < BinnedTraffic::kLevels &&
         period_ns > kMostBinsAPeriod * static_cast<double>(BinnedTraffic::bin_ns(level))) {
    ++level;
  }
  return level;
}

std::vector<std::int64_t> burst_begins(const BinnedTraffic& traffic, double period_ns,
                                       std::int64_t since_ns) {
  const std::size_t level = level_of(period_ns);
  const std::int64_t bin_ns = BinnedTraffic::bin_ns(level);
  const std::int64_t bins = (traffic.newest_ns() - since_ns) / bin_ns;
  const BinnedTraffic::Span span = traffic.newest(level, std::max(bins, std::int64_t{0}));
  const double period = period_ns / static_cast<double>(bin_ns);
  const std::vector<float> rising = rises(box_mean(clipped(span.bins), 3), period);
  std::vector<std::int64_t> begins;
  if (rising.empty()) {
    return begins;
  }
  for (const std::size_t place : Way(rising, period).places()) {
    begins.push_back(span.begin_ns +
                     std::llround(exact_place(rising, place) * static_cast<double>(bin_ns)));
  }
  return begins;
}

}  // namespace chokepoint::capture::step
