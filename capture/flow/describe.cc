#include "capture/flow/describe.h"

namespace chokepoint::capture::flow {
namespace {

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
  facts.max_window_bytes = std::uint64_t{half.max_told} << *facts.window_scale;
}

DirectionFacts describe_half(const Half& half, const Half& other) {
  DirectionFacts facts;
  static_cast<Tally&>(facts) = half.tally;
  const Activity& activity = half.activity;
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

// The shortest way between the tap and the side that answers this half.
std::optional<double> shortest_ms(const DirectionFacts& facts) {
  std::optional<double> least;
  for (const auto& each : {facts.rtt_ms, facts.timestamp_rtt_ms}) {
    if (each && (!least || each->min < *least)) {
      least = each->min;
    }
  }
  return least;
}

// The half with more samples, and the least of the other one: what lies beyond the tap there,
// without the time that its host took.
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
