#include "capture/flow/flow.h"

#include <algorithm>

namespace chokepoint::capture::flow {
namespace {

constexpr std::uint32_t kMaxCommonPayload = 1460;  // 1500 less the headers of IPv4 and TCP
constexpr std::uint32_t kMaxJumboPayload = 8960;
constexpr std::uint32_t kMinFullSegment =
    1'000;  // below it a lone segment says little about the MSS
constexpr std::uint32_t kUsualCommonPayload = 1448;  // 1500, IPv4 and timestamps
constexpr std::int32_t kMaxVotes = 64;

constexpr double kMsPerNs = 1e-6;
constexpr double kSecondsPerNs = 1e-9;

double mbps(std::uint64_t bytes, double ns) {
  return ns > 0 ? static_cast<double>(bytes) * 8e3 / ns : 0;
}

std::optional<math::Distribution> distribution(const std::unique_ptr<Spread>& spread) {
  if (!spread || spread->count() == 0) {
    return std::nullopt;
  }
  return spread->distribution(kMsPerNs);
}

void describe_window(const Half& half, const Half& other, DirectionFacts& facts) {
  if (!is_known(half.opening) || !is_known(other.opening)) {
    return;
  }
  const bool is_scaled = half.opening.has_window_scale && other.opening.has_window_scale;
  facts.window_scale = is_scaled ? half.opening.window_scale : std::uint8_t{0};
  facts.max_window_bytes = std::uint64_t{half.max_window} << *facts.window_scale;
}

DirectionFacts describe_half(const Half& half, const Half& other) {
  DirectionFacts facts;
  static_cast<Tally&>(facts) = half.tally;
  const Activity activity = half.activity.counted();
  facts.throughput_mbps =
      mbps(facts.payload_bytes, static_cast<double>(facts.last_ns - facts.first_ns));
  facts.busy_throughput_mbps = mbps(facts.unique_bytes, static_cast<double>(activity.busy_ns()));
  facts.rtt_ms = distribution(half.rtt);
  facts.timestamp_rtt_ms = distribution(half.timestamp_rtt);
  if (half.rounds && half.rounds->count() > 0) {
    facts.cwnd_bytes = static_cast<std::uint64_t>(half.rounds->quantile(0.5));
  }
  describe_window(half, other, facts);
  if (half.segment.bytes() > 0) {
    facts.mss_bytes = half.segment.bytes();
  }
  facts.used_sack = half.used_sack;
  facts.busy_s = static_cast<double>(activity.busy_ns()) * kSecondsPerNs;
  facts.window_limited_s = static_cast<double>(activity.window_limited_ns()) * kSecondsPerNs;
  facts.zero_window_s = static_cast<double>(activity.closed_ns()) * kSecondsPerNs;
  facts.longest_idle_s = static_cast<double>(activity.longest_idle_ns()) * kSecondsPerNs;
  return facts;
}

// The shortest round trip between the tap and the side that answers this half.
std::optional<double> shortest_ms(const DirectionFacts& facts) {
  std::optional<double> least;
  for (const auto& each : {facts.rtt_ms, facts.timestamp_rtt_ms}) {
    if (each && (!least || each->min < *least)) {
      least = each->min;
    }
  }
  return least;
}

// Round trips of the whole path: those of the half with more samples, plus the shortest of the
// other half, which is the path on the tap's other side without its host's delay.
std::optional<math::Distribution> path(const std::array<DirectionFacts, 2>& directions) {
  const auto samples = [](const DirectionFacts& facts) -> std::uint64_t {
    return facts.rtt_ms ? facts.rtt_ms->count : 0;
  };
  const std::size_t measured = samples(directions[0]) >= samples(directions[1]) ? 0 : 1;
  const std::optional<double> rest = shortest_ms(directions[1 - measured]);
  if (!directions[measured].rtt_ms || !rest) {
    return std::nullopt;
  }
  math::Distribution whole = *directions[measured].rtt_ms;
  for (double* value : {&whole.min, &whole.median, &whole.p99, &whole.max, &whole.mean}) {
    *value += *rest;
  }
  return whole;
}

}  // namespace

bool Activity::change(std::int64_t time_ns, State state) {
  const std::int64_t now_ns = is_begun_ ? std::max(last_ns_, time_ns) : time_ns;
  const std::int64_t passed = is_begun_ ? now_ns - counted_ns_ : 0;
  const bool was_busy = state_.is_busy && (!state_.is_unanswered || passed < kUnansweredIdleNs);
  if (was_busy) {
    busy_ns_ += passed;
    window_limited_ns_ += state_.is_window_limited ? passed : 0;
    idle_ns_ = 0;
  } else if (was_ever_busy_) {
    idle_ns_ += passed;
    longest_idle_ns_ = std::max(longest_idle_ns_, idle_ns_);
  }
  closed_ns_ += state_.is_window_closed ? passed : 0;
  state_ = state;
  last_ns_ = counted_ns_ = now_ns;
  is_begun_ = true;
  was_ever_busy_ |= state.is_busy;
  return state.is_busy && !was_busy;
}

void SegmentSize::learn(std::uint32_t payload_bytes) {
  if (payload_bytes <= kMaxCommonPayload) {
    largest_common_ = std::max(largest_common_, payload_bytes);
    bytes_ = learned();
    return;
  }
  is_beyond_common_ = true;
  is_beyond_jumbo_ |= payload_bytes > kMaxJumboPayload;
  const bool fits_common =
      largest_common_ >= kMinFullSegment && payload_bytes % largest_common_ == 0;
  if (payload_bytes <= kMaxJumboPayload) {
    largest_jumbo_ = std::max(largest_jumbo_, payload_bytes);
  }
  const bool fits_jumbo = largest_jumbo_ > kMaxCommonPayload && payload_bytes % largest_jumbo_ == 0;
  votes_for_jumbo_ +=
      static_cast<std::int32_t>(fits_jumbo) - static_cast<std::int32_t>(fits_common);
  votes_for_jumbo_ = std::clamp(votes_for_jumbo_, -kMaxVotes, kMaxVotes);
  bytes_ = learned();
}

std::uint32_t SegmentSize::learned() const {
  if (!is_beyond_common_) {
    return 0;
  }
  if (votes_for_jumbo_ > 0 && (largest_common_ < kMinFullSegment || votes_for_jumbo_ > 2)) {
    return largest_jumbo_;
  }
  if (largest_common_ >= kMinFullSegment) {
    return largest_common_;
  }
  return is_beyond_jumbo_ ? kUsualCommonPayload : largest_jumbo_;
}

FlowFacts describe(const Flow& flow) {
  FlowFacts facts;
  facts.ends = flow.ends;
  facts.kind = flow.kind;
  facts.interface = flow.interface;
  facts.start_ns = flow.start_ns;
  facts.end_ns = flow.end_ns;
  facts.handshake_seen = flow.handshake_seen();
  facts.is_closed = flow.is_closed();
  facts.directions[0] = describe_half(flow.halves[0], flow.halves[1]);
  facts.directions[1] = describe_half(flow.halves[1], flow.halves[0]);
  facts.path_rtt_ms = path(facts.directions);
  return facts;
}

}  // namespace chokepoint::capture::flow
