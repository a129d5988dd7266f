#include "probe/udp/parameters.h"

#include "base/control/fields.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using std::chrono::nanoseconds;

constexpr std::int64_t kMostStreams = 64;
constexpr std::int64_t kLongest = std::int64_t{86'400'000'000'000} * 30;
constexpr std::int64_t kShortestInterval = 10'000'000;
constexpr double kMostRate = 1e15;
constexpr std::size_t kLongestName = 15;

Json clock_body(const ClockOffset& clock) {
  return {{"offset_ns", clock.offset_ns},
          {"uncertainty_ns", clock.uncertainty_ns},
          {"round_trip_ns", clock.round_trip_ns}};
}

Result<std::optional<ClockOffset>> clock_in(const Json& body) {
  const auto at = body.find("peer_clock");
  if (at == body.end() || at->is_null()) {
    return std::nullopt;
  }
  control::Fields in(*at, "peer clock");
  return in.finish(
      std::optional(ClockOffset{.offset_ns = in.integer("offset_ns", INT64_MIN + 1, INT64_MAX),
                                .uncertainty_ns = in.integer("uncertainty_ns", 0, kLongest),
                                .round_trip_ns = in.integer("round_trip_ns", 0, kLongest)}));
}

// A server with a limit does not let anybody find out how far it goes.
Result<> within_rate(const control::Limits& limits, double bits_per_s) {
  if (!limits.rate_bits_per_s) {
    return {};
  }
  return control::check_rate(limits, bits_per_s > 0 ? bits_per_s : kMostRate);
}

}  // namespace

Json body_of(const Parameters& parameters) {
  return {{"direction", name_of(parameters.direction)},
          {"streams", parameters.streams},
          {"time_ns", parameters.time.count()},
          {"rate_bits_per_s", parameters.bits_per_s ? Json(*parameters.bits_per_s) : Json()},
          {"share", parameters.share}};
}

Result<Parameters> parameters_in(const Json& body) {
  control::Fields in(body, "udp request");
  TRY(const Direction direction, control::direction_named(in.text("direction", kLongestName)));
  return in.finish(Parameters{.direction = direction,
                              .streams = static_cast<int>(in.integer("streams", 1, kMostStreams)),
                              .time = nanoseconds(in.integer("time_ns", 1, kLongest)),
                              .bits_per_s = in.maybe_number("rate_bits_per_s", 0, kMostRate),
                              .share = in.boolean("share")});
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  Result<> fits = control::check_time(limits, parameters.time);
  fits = fits ? control::check_streams(limits, flows_of(parameters)) : fits;
  return fits && parameters.bits_per_s ? within_rate(limits, *parameters.bits_per_s) : fits;
}

int flows_of(const Parameters& parameters) {
  return parameters.direction == Direction::Both ? 2 * parameters.streams : parameters.streams;
}

bool is_upstream(const Parameters& parameters, int flow) {
  return parameters.direction != Direction::Receive && flow < parameters.streams;
}

Json body_for_peer(const RunPlan& plan) {
  return {{"run", plan.run},
          {"packet_bytes", plan.packet_bytes},
          {"rate_bits_per_s", plan.bits_per_s},
          {"time_ns", plan.time.count()},
          {"interval_ns", plan.interval.count()},
          {"peer_clock", plan.peer_clock ? clock_body(plan.peer_clock->turned()) : Json()}};
}

Result<RunPlan> run_plan_in(const Json& body) {
  control::Fields in(body, "udp run");
  TRY(const std::optional<ClockOffset> clock, clock_in(body));
  return in.finish(RunPlan{
      .run = static_cast<std::uint16_t>(in.integer("run", 1, UINT16_MAX)),
      .packet_bytes =
          static_cast<std::size_t>(in.integer("packet_bytes", kHeadBytes, kMostPacketBytes)),
      .bits_per_s = in.number("rate_bits_per_s", 0, kMostRate),
      .time = nanoseconds(in.integer("time_ns", 1, kLongest)),
      .interval = nanoseconds(in.integer("interval_ns", kShortestInterval, kLongest)),
      .peer_clock = clock});
}

Result<> check(const RunPlan& plan, const Parameters& parameters, const control::Limits& limits) {
  if (plan.time > parameters.time) {
    return fail(ErrorKind::Usage, "udp run", "time", "longer than what was asked for");
  }
  return within_rate(limits, plan.bits_per_s);
}

}  // namespace chokepoint::probe::udp
