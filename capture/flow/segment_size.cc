#include "capture/flow/segment_size.h"

#include <algorithm>

namespace chokepoint::capture::flow {
namespace {

constexpr std::uint32_t kCommon = 1460;  // 1500 less the headers of IPv4 and TCP
constexpr std::uint32_t kJumbo = 8960;
constexpr std::uint32_t kSmallestFull = 1'000;  // below it a lone segment says little about the MSS
constexpr std::uint32_t kUsualPayload = 1448;   // 1500, IPv4 and timestamps
constexpr std::int32_t kMostVotes = 64;

}  // namespace

void SegmentSize::learn(std::uint32_t payload_bytes) {
  if (payload_bytes <= kCommon) {
    largest_common_ = std::max(largest_common_, payload_bytes);
    bytes_ = learned();
    return;
  }
  is_beyond_common_ = true;
  is_beyond_jumbo_ |= payload_bytes > kJumbo;
  const bool fits_common = largest_common_ >= kSmallestFull && payload_bytes % largest_common_ == 0;
  if (payload_bytes <= kJumbo) {
    largest_jumbo_ = std::max(largest_jumbo_, payload_bytes);
  }
  const bool fits_jumbo = largest_jumbo_ > kCommon && payload_bytes % largest_jumbo_ == 0;
  votes_for_jumbo_ +=
      static_cast<std::int32_t>(fits_jumbo) - static_cast<std::int32_t>(fits_common);
  votes_for_jumbo_ = std::clamp(votes_for_jumbo_, -kMostVotes, kMostVotes);
  bytes_ = learned();
}

std::uint32_t SegmentSize::learned() const {
  if (!is_beyond_common_) {
    return 0;
  }
  if (votes_for_jumbo_ > 0 && (largest_common_ < kSmallestFull || votes_for_jumbo_ > 2)) {
    return largest_jumbo_;
  }
  if (largest_common_ >= kSmallestFull) {
    return largest_common_;
  }
  return is_beyond_jumbo_ ? kUsualPayload : largest_jumbo_;
}

}  // namespace chokepoint::capture::flow
