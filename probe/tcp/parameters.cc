#include "probe/tcp/parameters.h"

#include <fmt/format.h>

#include "base/json/codec.h"

namespace chokepoint {

template <>
struct Fields<probe::tcp::Parameters> {
  using P = probe::tcp::Parameters;
  static constexpr FieldList kList{
      field("direction", &P::direction),
      field("streams", &P::streams, "in each direction").between(1, 1024),
      field("time_ns", &P::time).between(1, control::kMaxTestNs),
      field("bytes", &P::bytes, "in each direction, all streams").between(1, kMaxCount),
      field("omit_ns", &P::omit, "at the start, not measured").between(0, control::kMaxTestNs),
      field("interval_ns", &P::interval).between(control::kMinIntervalNs, control::kMaxTestNs),
      field("congestion", &P::congestion).up_to_bytes(15),  // TCP_CA_NAME_MAX less the final zero
      field("mss", &P::mss).between(88, 32767),
      field("window", &P::window).between(1024, INT32_MAX),
      field("pace_bits_per_s", &P::pace_bits_per_s, "in each direction, all streams")
          .between(control::kMinPaceBitsPerS, control::kMaxBitsPerS),
      field("dscp", &P::dscp).between(0, 63),
      field("zero_copy", &P::zero_copy),
      field("share", &P::share, "may run beside other tests that share")};
};

}  // namespace chokepoint

namespace chokepoint::probe::tcp {

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "tcp request");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  Result<> fits = control::check_time(limits, parameters.time + parameters.omit);
  fits = fits ? control::check_buffer(limits, parameters.window.value_or(0)) : fits;
  // With --bytes the time is only a limit, so the number of intervals is not known beforehand.
  if (fits && !parameters.bytes) {
    fits = control::check_interval(parameters.time, parameters.interval);
  }
  fits = fits ? control::check_streams(limits, connections(parameters)) : fits;
  return fits ? control::check_pace(limits, parameters.pace_bits_per_s) : fits;
}

int connections(const Parameters& parameters) {
  return parameters.direction == Direction::Both ? 2 * parameters.streams : parameters.streams;
}

std::int64_t memory_of(const Parameters& parameters, const control::Limits& limits) {
  const std::int64_t upstream = parameters.direction == Direction::Receive ? 0 : parameters.streams;
  // The kernel doubles what it grants, in both directions.
  const std::int64_t socket =
      4 * std::min<std::int64_t>(parameters.window.value_or(0), limits.kernel_buffer_bytes);
  return upstream * static_cast<std::int64_t>(kReceiveBytes) + connections(parameters) * socket;
}

bool is_upstream(const Parameters& parameters, int index) {
  return parameters.direction == Direction::Send ||
         (parameters.direction == Direction::Both && index < parameters.streams);
}

net::SocketOptions socket_options(const Parameters& parameters) {
  net::SocketOptions options{.congestion = parameters.congestion,
                             .mss = parameters.mss,
                             .buffer_bytes = parameters.window,
                             .dscp = parameters.dscp};
  if (parameters.pace_bits_per_s) {
    options.pacing_bytes_per_s =
        static_cast<std::uint64_t>(*parameters.pace_bits_per_s / 8 / parameters.streams);
  }
  return options;
}

}  // namespace chokepoint::probe::tcp
