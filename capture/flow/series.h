// One direction's course in bins of 10 ms, the recent past in full and the distant past folded:
// when there are too many bins the older half is folded in pairs, and again as it ages. Empty bins
// take no room. Fixed most memory a series. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

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
  std::uint32_t window_bytes = kNoSample;      // this side's, scaled, the last told
  std::uint32_t min_window_bytes = kNoSample;  // the smallest told

  std::int64_t end_ns() const { return start_ns + width_ns; }
  void add(const Bin& later);
};

class Series {
 public:
  static constexpr std::int64_t kWidthNs = 10'000'000;
  static constexpr std::size_t kMost = 512;

  explicit Series(Budget& budget) : share_(budget) {}

  // The bin of this moment. A clock that stepped back goes on in the newest bin.
  Bin& at(std::int64_t time_ns) {
    if (!bins_.empty() && time_ns < bins_.back().end_ns()) {
      return bins_.back();
    }
    return add(time_ns);
  }

  const std::vector<Bin>& bins() const { return bins_; }
  // Bins that ended and were not handed out yet; `all`: the newest, too.
  void drain(bool all, const std::function<void(const Bin&)>& see);

 private:
  Bin& add(std::int64_t time_ns);
  void fold();

  std::vector<Bin> bins_;
  std::int64_t drained_ns_ = 0;  // bins that start before it were handed out
  Share share_;
};

}  // namespace chokepoint::capture::flow
