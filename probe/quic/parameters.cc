#include "probe/quic/parameters.h"

#include <fmt/format.h>

#include "base/json/codec.h"

namespace chokepoint {

template <>
struct Fields<probe::quic::Parameters> {
  using P = probe::quic::Parameters;
  static constexpr double kMaxNs = 86'400e9 * 30;
  static constexpr double kMaxWindow = 1ULL << 40;
  static constexpr std::tuple kList{
      field("direction", &P::direction),
      field("streams", &P::streams, "each way, all of one connection").between(1, 1024),
      field("time_ns", &P::time).between(1, kMaxNs),
      field("interval_ns", &P::interval).between(10e6, kMaxNs),
      field("congestion", &P::congestion),
      field("window_bytes", &P::window_bytes, "of a stream and of the connection")
          .between(4096, kMaxWindow),
      field("segmentation", &P::segmentation, "UDP_SEGMENT and UDP_GRO"),
      field("pace_bits_per_s", &P::pace_bits_per_s, "each way, all streams").between(1000, 1e15),
      field("share", &P::share, "may run beside other tests that share")};
};

}  // namespace chokepoint

namespace chokepoint::probe::quic {

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "quic request");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  constexpr int kMaxIntervals = 36'000;
  TRY(control::check_time(limits, parameters.time));
  TRY(control::check_buffer(limits, static_cast<std::int64_t>(parameters.window_bytes)));
  TRY(control::check_streams(limits, parameters.streams));
  if (parameters.time / parameters.interval > kMaxIntervals) {
    return fail(ErrorKind::Usage, "", "--interval",
                fmt::format("a test has at most {} intervals", kMaxIntervals), "give a longer one");
  }
  return limits.rate_bits_per_s
             ? control::check_rate(limits, parameters.pace_bits_per_s.value_or(1e15))
             : Result<>{};
}

std::int64_t memory_of(const Parameters& parameters) {
  constexpr std::int64_t kBuffers = std::int64_t{4} << 20;
  return static_cast<std::int64_t>(parameters.window_bytes) + kBuffers;
}

}  // namespace chokepoint::probe::quic
