#include "capture/flow/series.h"

#include <algorithm>
#include <cstddef>

namespace chokepoint::capture::flow {
namespace {

std::int64_t aligned(std::int64_t time_ns, std::int64_t width_ns) {
  const std::int64_t into = time_ns % width_ns;
  return time_ns - (into < 0 ? into + width_ns : into);
}

}  // namespace

void Bin::add(const Bin& later) {
  payload_bytes += later.payload_bytes;
  bytes += later.bytes;
  rtt_sum_us += later.rtt_sum_us;
  rtt_samples += later.rtt_samples;
  min_rtt_us = std::min(min_rtt_us, later.min_rtt_us);
  packets += later.packets;
  retransmitted_packets += later.retransmitted_packets;
  retransmitted_bytes += later.retransmitted_bytes;
  out_of_order += later.out_of_order;
  duplicate_acks += later.duplicate_acks;
  zero_windows += later.zero_windows;
  window_full += later.window_full;
  congestion_marks += later.congestion_marks;
  max_in_flight_bytes = std::max(max_in_flight_bytes, later.max_in_flight_bytes);
  window_bytes = later.window_bytes == kNoSample ? window_bytes : later.window_bytes;
  min_window_bytes = std::min(min_window_bytes, later.min_window_bytes);
}

Bin& Series::add(std::int64_t time_ns) {
  if (bins_.size() == kMaxBins) {
    fold();
  }
  if (bins_.size() == bins_.capacity()) {
    const std::size_t capacity = std::clamp<std::size_t>(bins_.size() * 2, 8, kMaxBins);
    share_.grow((capacity - bins_.capacity()) * sizeof(Bin));
    bins_.reserve(capacity);
  }
  Bin& bin = bins_.emplace_back();
  bin.start_ns = aligned(time_ns, kWidthNs);
  bin.width_ns = kWidthNs;
  newest_ = &bin;
  newest_end_ns_ = bin.end_ns();
  return bin;
}

// Doubles the widths in the older half until a quarter of all bins is saved.
void Series::fold() {
  const std::size_t older = bins_.size() / 2;
  const std::size_t newer = bins_.size() - older;
  std::size_t kept = older;
  for (std::int64_t width = 2 * bins_[older - 1].width_ns; kept > older / 2; width *= 2) {
    std::size_t to = 0;
    for (std::size_t from = 0; from < kept; ++from) {
      Bin bin = bins_[from];
      const std::int64_t end = bin.end_ns();
      bin.start_ns = aligned(bin.start_ns, std::max(width, bin.width_ns));
      bin.width_ns = std::max(std::max(width, bin.width_ns), end - bin.start_ns);
      if (to > 0 && bin.start_ns < bins_[to - 1].end_ns()) {
        bins_[to - 1].add(bin);
      } else {
        bins_[to++] = bin;
      }
    }
    kept = to;
  }
  std::move(bins_.begin() + static_cast<std::ptrdiff_t>(older), bins_.end(),
            bins_.begin() + static_cast<std::ptrdiff_t>(kept));
  bins_.resize(kept + newer);
  Bin& last_folded = bins_[kept - 1];
  last_folded.width_ns =
      std::min(last_folded.end_ns(), bins_[kept].start_ns) - last_folded.start_ns;
}

void Series::drain(bool all, const std::function<void(const Bin&)>& see) {
  auto from = bins_.end();
  while (from != bins_.begin() && std::prev(from)->start_ns >= drained_ns_) {
    --from;
  }
  const auto past = all || bins_.empty() ? bins_.end() : std::prev(bins_.end());
  for (; from < past; ++from) {
    see(*from);
    drained_ns_ = from->end_ns();
  }
}

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
