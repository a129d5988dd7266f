#include "probe/udp/parameters.h"

#include "base/json/codec.h"
#include "base/net/headers.h"
#include "probe/udp/packet.h"

namespace chokepoint {

template <>
struct Fields<probe::udp::Parameters> {
  using P = probe::udp::Parameters;
  static constexpr FieldList kList{
      field("direction", &P::direction),
      field("streams", &P::streams, "in each direction").between(1, 64),
      field("time_ns", &P::time, "of the longest run").between(1, control::kMaxTestNs),
      field("rate_bits_per_s", &P::bits_per_s, "of the fastest run; 0: unpaced; null: a search")
          .between(0, control::kMaxBitsPerS),
      field("share", &P::share, "may run beside other tests that share")};
};

template <>
struct Fields<probe::udp::ClockOffset> {
  using C = probe::udp::ClockOffset;
  static constexpr FieldList kList{
      field("offset_ns", &C::offset_ns).at_least(-kMaxCount),  // so that it can be turned
      field("uncertainty_ns", &C::uncertainty_ns).between(0, control::kMaxTestNs),
      field("round_trip_ns", &C::round_trip_ns).between(0, control::kMaxTestNs)};
};

template <>
struct Fields<probe::udp::RunPlan> {
  using P = probe::udp::RunPlan;
  static constexpr FieldList kList{
      field("run", &P::run).between(1, UINT16_MAX),
      field("packet_bytes", &P::packet_bytes)
          .between(probe::udp::kHeadBytes, net::kMaxUdpPayloadBytes),
      field("rate_bits_per_s", &P::bits_per_s, "0: unpaced").between(0, control::kMaxBitsPerS),
      field("time_ns", &P::time).between(1, control::kMaxTestNs),
      field("interval_ns", &P::interval).between(control::kMinIntervalNs, control::kMaxTestNs),
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
  return control::check_rate(limits, bits_per_s > 0 ? bits_per_s : control::kMaxBitsPerS);
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
