#include "probe/tcp/measurement.h"

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Fields;
using control::Json;
using control::list_in;
using control::or_null;

constexpr double kLongestMeasured = 1e8;  // seconds
constexpr double kMostPercent = 1e6;
constexpr std::int64_t kMost = INT64_MAX;
constexpr std::size_t kLongestText = 256;

std::optional<std::uint64_t> as_unsigned(std::optional<std::int64_t> value) {
  return value ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
}

Json role_body(Role role) { return role == Role::Send ? "send" : "receive"; }

Role role_in(Fields& in) {
  return in.text("role", kLongestText) == "send" ? Role::Send : Role::Receive;
}

Json whole_body(const math::Distribution& rtt) {
  return {{"min", rtt.min}, {"median", rtt.median}, {"p99", rtt.p99},
          {"max", rtt.max}, {"mean", rtt.mean},     {"count", rtt.count}};
}

Result<math::Distribution> distribution_in(const Json& body) {
  Fields in(body, "distribution");
  return in.finish(
      math::Distribution{.min = in.number("min", 0, kLongestMeasured),
                         .median = in.number("median", 0, kLongestMeasured),
                         .p99 = in.number("p99", 0, kLongestMeasured),
                         .max = in.number("max", 0, kLongestMeasured),
                         .mean = in.number("mean", 0, kLongestMeasured),
                         .count = static_cast<std::uint64_t>(in.integer("count", 0, kMost))});
}

Json chrono_body(const std::optional<net::TcpChrono>& chrono) {
  if (!chrono) {
    return {};
  }
  return {{"busy_us", chrono->busy_us},
          {"receive_window_us", chrono->receive_window_us},
          {"send_buffer_us", chrono->send_buffer_us}};
}

Result<std::optional<net::TcpChrono>> chrono_in(const Json& body) {
  const auto at = body.find("chrono");
  if (at == body.end() || at->is_null()) {
    return std::nullopt;
  }
  Fields in(*at, "chrono");
  return in.finish(
      std::optional(net::TcpChrono{.busy_us = in.integer("busy_us", 0, kMost),
                                   .receive_window_us = in.integer("receive_window_us", 0, kMost),
                                   .send_buffer_us = in.integer("send_buffer_us", 0, kMost)}));
}

Json body_of(const StreamMeasure& stream) {
  return {{"role", role_body(stream.role)},
          {"index", stream.index},
          {"total_bytes", stream.total_bytes},
          {"bytes", stream.bytes},
          {"start_s", stream.start_s},
          {"end_s", stream.end_s},
          {"retransmits", or_null(stream.retransmits)},
          {"max_cwnd_bytes", or_null(stream.max_cwnd_bytes)},
          {"rtt_ms", whole_body(stream.rtt_ms)},
          {"min_rtt_ms", or_null(stream.min_rtt_ms)},
          {"mss_bytes", or_null(stream.mss_bytes)},
          {"congestion", stream.congestion},
          {"chrono", chrono_body(stream.chrono)},
          {"chrono_us", stream.chrono_us},
          {"starved_share", stream.starved_share},
          {"send_window_bytes", or_null(stream.send_window_bytes)},
          {"cpu_percent", stream.cpu_percent},
          {"error", stream.error}};
}

Result<StreamMeasure> stream_in(const Json& body) {
  Fields in(body, "stream");
  StreamMeasure stream{.role = role_in(in)};
  stream.index = static_cast<int>(in.integer("index", 0, 1'000'000));
  stream.total_bytes = static_cast<std::uint64_t>(in.integer("total_bytes", 0, kMost));
  stream.bytes = static_cast<std::uint64_t>(in.integer("bytes", 0, kMost));
  stream.start_s = in.number("start_s", 0, kLongestMeasured);
  stream.end_s = in.number("end_s", 0, kLongestMeasured);
  stream.retransmits = as_unsigned(in.maybe_integer("retransmits", 0, kMost));
  stream.max_cwnd_bytes = as_unsigned(in.maybe_integer("max_cwnd_bytes", 0, kMost));
  stream.min_rtt_ms = in.maybe_number("min_rtt_ms", 0, kLongestMeasured);
  stream.mss_bytes = in.maybe_integer("mss_bytes", 0, kMost);
  stream.congestion = in.text("congestion", kLongestText);
  stream.send_window_bytes = as_unsigned(in.maybe_integer("send_window_bytes", 0, kMost));
  stream.starved_share = in.number("starved_share", 0, 1);
  stream.chrono_us = in.integer("chrono_us", 0, kMost);
  stream.cpu_percent = in.number("cpu_percent", 0, kMostPercent);
  stream.error = in.text("error", kLongestText);
  const Result<math::Distribution> rtt = distribution_in(in.object("rtt_ms"));
  const Result<std::optional<net::TcpChrono>> chrono = chrono_in(body);
  if (!rtt || !chrono) {
    return std::unexpected(rtt ? chrono.error() : rtt.error());
  }
  stream.rtt_ms = *rtt;
  stream.chrono = *chrono;
  return in.finish(std::move(stream));
}

Json body_of(const HostMeasure& host) {
  return {{"cpu_percent", host.cpu_percent},
          {"softirq_percent", or_null(host.softirq_percent)},
          {"softirq_core", or_null(host.softirq_core)},
          {"busiest_core_percent", or_null(host.busiest_core_percent)}};
}

Result<HostMeasure> host_in(const Json& body) {
  Fields in(body, "host");
  const auto core = in.maybe_integer("softirq_core", 0, 1'000'000);
  return in.finish(HostMeasure{
      .cpu_percent = in.number("cpu_percent", 0, kMostPercent),
      .softirq_percent = in.maybe_number("softirq_percent", 0, kMostPercent),
      .softirq_core = core ? std::optional(static_cast<int>(*core)) : std::nullopt,
      .busiest_core_percent = in.maybe_number("busiest_core_percent", 0, kMostPercent)});
}

}  // namespace

Json body_of(const IntervalMeasure& interval) {
  return {{"role", role_body(interval.role)},
          {"start_s", interval.start_s},
          {"end_s", interval.end_s},
          {"bytes", interval.bytes},
          {"retransmits", or_null(interval.retransmits)},
          {"cwnd_bytes", or_null(interval.cwnd_bytes)},
          {"rtt_ms", or_null(interval.rtt_ms)}};
}

Result<IntervalMeasure> interval_in(const Json& body) {
  Fields in(body, "interval");
  IntervalMeasure interval{.role = role_in(in)};
  interval.start_s = in.number("start_s", 0, kLongestMeasured);
  interval.end_s = in.number("end_s", 0, kLongestMeasured);
  interval.bytes = static_cast<std::uint64_t>(in.integer("bytes", 0, kMost));
  interval.retransmits = as_unsigned(in.maybe_integer("retransmits", 0, kMost));
  interval.cwnd_bytes = as_unsigned(in.maybe_integer("cwnd_bytes", 0, kMost));
  interval.rtt_ms = in.maybe_number("rtt_ms", 0, kLongestMeasured);
  return in.finish(interval);
}

Json body_of(const Half& half) {
  Json body{{"streams", Json::array()}, {"intervals", Json::array()}, {"host", body_of(half.host)}};
  for (const StreamMeasure& stream : half.streams) {
    body["streams"].push_back(body_of(stream));
  }
  for (const IntervalMeasure& interval : half.intervals) {
    body["intervals"].push_back(body_of(interval));
  }
  return body;
}

Result<Half> half_in(const Json& body) {
  TRY(std::vector<StreamMeasure> streams, list_in<StreamMeasure>(body, "streams", stream_in));
  TRY(std::vector<IntervalMeasure> intervals,
      list_in<IntervalMeasure>(body, "intervals", interval_in));
  Fields in(body, "result");
  TRY(const HostMeasure host, host_in(in.object("host")));
  return Half{.streams = std::move(streams), .intervals = std::move(intervals), .host = host};
}

}  // namespace chokepoint::probe::tcp
