#include "probe/udp/parameters.h"

#include "base/json/codec.h"
#include "probe/udp/packet.h"

namespace chokepoint {

template <>
struct Fields<probe::udp::Parameters> {
  using P = probe::udp::Parameters;
  static constexpr double kMaxNs = 86'400e9 * 30;
  static constexpr double kMaxRate = 1e15;
  static constexpr std::tuple kList{
      field("direction", &P::direction), field("streams", &P::streams, "each way").between(1, 64),
      field("time_ns", &P::time, "of the longest run").between(1, kMaxNs),
      field("rate_bits_per_s", &P::bits_per_s, "of the fastest run; 0: unpaced; null: a search")
          .between(0, kMaxRate),
      field("share", &P::share, "may run beside other tests that share")};
};

template <>
struct Fields<probe::udp::ClockOffset> {
  using C = probe::udp::ClockOffset;
  static constexpr double kMaxNs = Fields<probe::udp::Parameters>::kMaxNs;
  static constexpr std::tuple kList{
      field("offset_ns", &C::offset_ns).at_least(-kMaxCount),  // so that it can be turned
      field("uncertainty_ns", &C::uncertainty_ns).between(0, kMaxNs),
      field("round_trip_ns", &C::round_trip_ns).between(0, kMaxNs)};
};

template <>
struct Fields<probe::udp::RunPlan> {
  using P = probe::udp::RunPlan;
  using Whole = Fields<probe::udp::Parameters>;
  static constexpr std::tuple kList{
      field("run", &P::run).between(1, UINT16_MAX),
      field("packet_bytes", &P::packet_bytes)
          .between(probe::udp::kHeadBytes, probe::udp::kMaxPacketBytes),
      field("rate_bits_per_s", &P::bits_per_s, "0: unpaced").between(0, Whole::kMaxRate),
      field("time_ns", &P::time).between(1, Whole::kMaxNs),
      field("interval_ns", &P::interval).between(10e6, Whole::kMaxNs),
      field("peer_clock", &P::peer_clock, "less that of the reader")};
};

}  // namespace chokepoint

namespace chokepoint::probe::udp {
namespace {

// A server with a rate limit refuses tests that send as fast as they can.
Result<> within_rate(const control::Limits& limits, double bits_per_s) {
  if (!limits.rate_bits_per_s) {
    return {};
  }
  return control::check_rate(limits, bits_per_s > 0 ? bits_per_s : Fields<Parameters>::kMaxRate);
}

}  // namespace

control::Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const control::Json& body) {
  return json::from_json<Parameters>(body, "udp request");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  TRY(control::check_time(limits, parameters.time));
  TRY(control::check_streams(limits, flows_of(parameters)));
  return parameters.bits_per_s ? within_rate(limits, *parameters.bits_per_s) : Result<>{};
}

int flows_of(const Parameters& parameters) {
  return parameters.direction == Direction::Both ? 2 * parameters.streams : parameters.streams;
}

bool is_upstream(const Parameters& parameters, int flow) {
  return parameters.direction != Direction::Receive && flow < parameters.streams;
}

control::Json body_for_peer(RunPlan plan) {
  if (plan.peer_clock) {
    plan.peer_clock = plan.peer_clock->turned();
  }
  return json::to_json(plan);
}

Result<RunPlan> run_plan_in(const control::Json& body) {
  return json::from_json<RunPlan>(body, "udp run");
}

Result<> check(const RunPlan& plan, const Parameters& parameters, const control::Limits& limits) {
  if (plan.time > parameters.time) {
    return fail(ErrorKind::Usage, "udp run", "time", "longer than what was asked for");
  }
  return within_rate(limits, plan.bits_per_s);
}

}  // namespace chokepoint::probe::udp
