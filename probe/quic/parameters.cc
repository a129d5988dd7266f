#include "probe/quic/parameters.h"

#include <fmt/format.h>

#include "base/json/codec.h"

namespace chokepoint {

template <>
struct Fields<probe::quic::Parameters> {
  using P = probe::quic::Parameters;
  static constexpr FieldList kList{
      field("direction", &P::direction),
      field("streams", &P::streams, "in each direction, all of one connection").between(1, 1024),
      field("time_ns", &P::time).between(1, control::kMaxTestNs),
      field("interval_ns", &P::interval).between(control::kMinIntervalNs, control::kMaxTestNs),
      field("congestion", &P::congestion),
      field("window_bytes", &P::window_bytes, "of a stream and of the connection")
          .between(probe::quic::kMinWindowBytes, probe::quic::kMaxWindowBytes),
      field("segmentation", &P::segmentation, "UDP_SEGMENT and UDP_GRO"),
      field("pace_bits_per_s", &P::pace_bits_per_s, "in each direction, all streams")
          .between(control::kMinPaceBitsPerS, control::kMaxBitsPerS),
      field("share", &P::share, "may run beside other tests that share")};
};

}  // namespace chokepoint

namespace chokepoint::probe::quic {

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "quic request");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  TRY(control::check_time(limits, parameters.time));
  TRY(control::check_buffer(limits, static_cast<std::int64_t>(parameters.window_bytes)));
  TRY(control::check_streams(limits, parameters.streams));
  TRY(control::check_interval(parameters.time, parameters.interval));
  return control::check_pace(limits, parameters.pace_bits_per_s);
}

std::int64_t memory_of(const Parameters& parameters) {
  constexpr std::int64_t kBuffers = std::int64_t{4} << 20;
  return static_cast<std::int64_t>(parameters.window_bytes) + kBuffers;
}

}  // namespace chokepoint::probe::quic
