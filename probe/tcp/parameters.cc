#include "probe/tcp/parameters.h"

#include <fmt/format.h>

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Json;
using control::or_null;
using std::chrono::nanoseconds;

constexpr std::int64_t kMostStreams = 1024;
constexpr std::int64_t kLongestTestNs = std::int64_t{86'400'000'000'000} * 30;
constexpr std::int64_t kShortestInterval = 10'000'000;
constexpr std::int64_t kMostIntervals = 36'000;
constexpr std::size_t kLongestName = 15;  // TCP_CA_NAME_MAX with its end

std::optional<int> as_int(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

}  // namespace

Json body_of(const Parameters& parameters) {
  return {{"direction", name_of(parameters.direction)},
          {"streams", parameters.streams},
          {"time_ns", parameters.time.count()},
          {"bytes", or_null(parameters.bytes)},
          {"omit_ns", parameters.omit.count()},
          {"interval_ns", parameters.interval.count()},
          {"congestion", parameters.congestion},
          {"mss", or_null(parameters.mss)},
          {"window", or_null(parameters.window)},
          {"pace_bits_per_s", or_null(parameters.pace_bits_per_s)},
          {"dscp", or_null(parameters.dscp)},
          {"zero_copy", parameters.zero_copy},
          {"share", parameters.share}};
}

Result<Parameters> parameters_in(const Json& body) {
  control::Fields in(body, "tcp request");
  TRY(const Direction direction, control::direction_named(in.text("direction", kLongestName)));
  Parameters parameters{.direction = direction};
  parameters.streams = static_cast<int>(in.integer("streams", 1, kMostStreams));
  parameters.time = nanoseconds(in.integer("time_ns", 1, kLongestTestNs));
  if (const auto bytes = in.maybe_integer("bytes", 1, INT64_MAX)) {
    parameters.bytes = static_cast<std::uint64_t>(*bytes);
  }
  parameters.omit = nanoseconds(in.integer("omit_ns", 0, kLongestTestNs));
  parameters.interval = nanoseconds(in.integer("interval_ns", kShortestInterval, kLongestTestNs));
  parameters.congestion = in.text("congestion", kLongestName);
  parameters.mss = as_int(in.maybe_integer("mss", 88, 32767));
  parameters.window = as_int(in.maybe_integer("window", 1024, INT32_MAX));
  parameters.pace_bits_per_s = in.maybe_number("pace_bits_per_s", 1000, 1e15);
  parameters.dscp = as_int(in.maybe_integer("dscp", 0, 63));
  parameters.zero_copy = in.boolean("zero_copy");
  parameters.share = in.boolean("share");
  return in.finish(std::move(parameters));
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  Result<> fits = control::check_time(limits, parameters.time + parameters.omit);
  fits = fits ? control::check_buffer(limits, parameters.window.value_or(0)) : fits;
  // With --bytes the time is only a limit, so that its intervals are counted as they come.
  if (fits && !parameters.bytes && parameters.time / parameters.interval > kMostIntervals) {
    return fail(ErrorKind::Usage, "", "--interval",
                fmt::format("a test has at most {} intervals", kMostIntervals),
                "give a longer one");
  }
  fits = fits ? control::check_streams(limits, connections(parameters)) : fits;
  if (fits && limits.rate_bits_per_s) {
    fits = control::check_rate(limits, parameters.pace_bits_per_s.value_or(1e15));
  }
  return fits;
}

int connections(const Parameters& parameters) {
  return parameters.direction == Direction::Both ? 2 * parameters.streams : parameters.streams;
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
