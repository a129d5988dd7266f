#include "capture/step/binned_traffic.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace chokepoint::capture::step {

namespace {

constexpr double kMaxTimesMean = 4;  // of a bin: clipped()

}  // namespace

void BinnedTraffic::flush() {
  if (pending_ > 0 && pending_bin_ >= 0) {
    const std::int64_t t_ns = pending_bin_ * bin_ns(0);
    oldest_ns_ = oldest_ns_ < 0 ? t_ns : oldest_ns_;
    newest_ns_ = std::max(newest_ns_, t_ns);
    for (std::size_t level = 0; level < kLevels; ++level) {
      add(level, t_ns, static_cast<float>(pending_));
    }
  }
  pending_ = 0;
}

void BinnedTraffic::add(std::size_t level, std::int64_t t_ns, float bytes) {
  Ring& ring = rings_.at(level);
  const std::int64_t bin = t_ns / bin_ns(level);
  if (bin <= ring.end - kBins) {
    return;
  }
  for (std::int64_t empty = std::max(ring.end, bin - kBins + 1); empty <= bin; ++empty) {
    ring.bins[static_cast<std::size_t>(empty % kBins)] = 0;
  }
  ring.end = std::max(ring.end, bin + 1);
  ring.bins[static_cast<std::size_t>(bin % kBins)] += bytes;
}

BinnedTraffic::Span BinnedTraffic::newest(std::size_t level, std::int64_t bins) const {
  if (oldest_ns_ < 0) {
    return {};
  }
  const Ring& ring = rings_.at(level);
  const std::int64_t end = ring.end - 1;  // the newest bin is not whole
  const std::int64_t held = end - oldest_ns_ / bin_ns(level);
  const std::int64_t begin = end - std::clamp(held, std::int64_t{0}, std::min(bins, kBins - 1));
  Span span{.begin_ns = begin * bin_ns(level)};
  for (std::int64_t bin = begin; bin < end; ++bin) {
    span.bins.push_back(ring.bins[static_cast<std::size_t>(bin % kBins)]);
  }
  return span;
}

double BinnedTraffic::bytes_between(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::size_t level = 0;
  while (level + 1 < kLevels && begin_ns / bin_ns(level) <= rings_.at(level).end - kBins) {
    ++level;
  }
  const Ring& ring = rings_.at(level);
  const std::int64_t oldest = std::max(ring.end - kBins + 1, std::int64_t{0});
  double bytes = 0;
  for (std::int64_t bin = std::max(begin_ns / bin_ns(level), oldest);
       bin < std::min(end_ns / bin_ns(level), ring.end); ++bin) {
    bytes += static_cast<double>(ring.bins[static_cast<std::size_t>(bin % kBins)]);
  }
  return bytes;
}

std::vector<float> box_mean(std::span<const float> series, std::size_t width) {
  std::vector<double> sums(series.size() + 1);
  std::partial_sum(series.begin(), series.end(), sums.begin() + 1, std::plus<double>());
  std::vector<float> result(series.size());
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::size_t from = i > width / 2 ? i - width / 2 : 0;
    const std::size_t to = std::min(i + width / 2 + 1, series.size());
    result[i] = static_cast<float>((sums[to] - sums[from]) / static_cast<double>(to - from));
  }
  return result;
}

std::vector<float> clipped(std::span<const float> series) {
  double sum = 0;
  double count = 0;
  for (const float value : series) {
    sum += value;
    count += value > 0 ? 1 : 0;
  }
  const auto most = static_cast<float>(count > 0 ? kMaxTimesMean * sum / count : 0);
  std::vector<float> result(series.begin(), series.end());
  std::ranges::for_each(result, [most](float& value) { value = std::min(value, most); });
  return result;
}

}  // namespace chokepoint::capture::step
