#include "probe/rpc/measurement.h"

#include "base/control/bodies.h"
#include "base/control/limits.h"
#include "base/documents/bounds.h"
#include "base/math/units.h"
#include "probe/rpc/parameters.h"

namespace chokepoint {
template <>
struct Fields<probe::rpc::Spread> {
  using S = probe::rpc::Spread;
  static constexpr FieldList kList{
      field("values", &S::values).between(0, control::kMaxReportedTime),
      field("p90", &S::p90).between(0, control::kMaxReportedTime),
      field("p999", &S::p999).between(0, control::kMaxReportedTime)};
};

template <>
struct Fields<probe::rpc::SentMeasure> {
  using S = probe::rpc::SentMeasure;
  static constexpr FieldList kList{
      field("retransmits", &S::retransmits).at_most(kMaxCount),
      field("rtt_ms", &S::rtt_ms).between(0, control::kMaxReportedTime),
      field("min_rtt_ms", &S::min_rtt_ms).between(0, control::kMaxReportedTime),
      field("mss_bytes", &S::mss_bytes).between(1, 1 << 20),
      field("window_bytes", &S::window_bytes).between(0, kMaxCount),
      field("max_window_bytes", &S::max_window_bytes).at_most(kMaxCount),
      field("busy_s", &S::busy_s).between(0, control::kMaxReportedTime),
      field("receive_window_s", &S::receive_window_s).between(0, control::kMaxReportedTime),
      field("send_buffer_s", &S::send_buffer_s).between(0, control::kMaxReportedTime)};
};

template <>
struct Fields<probe::rpc::HostMeasure> {
  using H = probe::rpc::HostMeasure;
  static constexpr FieldList kList{
      field("cpu_percent", &H::cpu_percent).between(0, documents::kMaxPercent),
      field("busy_percent", &H::busy_percent).between(0, documents::kMaxPercent),
      field("softirq_percent", &H::softirq_percent).between(0, documents::kMaxPercent)};
};

template <>
struct Fields<probe::rpc::Worker> {
  using W = probe::rpc::Worker;
  static constexpr FieldList kList{field("calls", &W::calls).at_most(kMaxCount),
                                   field("held_ms", &W::held_ms), field("answers", &W::answers),
                                   field("host", &W::host)};
};

template <>
struct Fields<probe::rpc::Hop> {
  using H = probe::rpc::Hop;
  static constexpr FieldList kList{field("host", &H::host).up_to_bytes(255),
                                   field("address", &H::address).up_to_bytes(64),
                                   field("calls", &H::calls).at_most(kMaxCount),
                                   field("latency_ms", &H::latency_ms),
                                   field("requests", &H::requests),
                                   field("worker", &H::worker)};
};

template <>
struct Fields<probe::rpc::Half> {
  using H = probe::rpc::Half;
  static constexpr FieldList kList{field("worker", &H::worker),
                                   field("next", &H::next).up_to_items(probe::rpc::kMaxNext)};
};

}  // namespace chokepoint

namespace chokepoint::probe::rpc {

Spread spread_of(const math::Histogram& histogram) {
  constexpr double kP90 = 0.9;
  constexpr double kP999 = 0.999;
  return {.values = histogram.distribution(math::kNsPerMs),
          .p90 = histogram.quantile(kP90) / math::kNsPerMs,
          .p999 = histogram.quantile(kP999) / math::kNsPerMs};
}

std::optional<documents::RpcTimes> times_of(const Spread& spread) {
  const math::Distribution& values = spread.values;
  if (values.count == 0) {
    return std::nullopt;
  }
  return documents::RpcTimes{.min = values.min,
                             .median = values.median,
                             .p90 = spread.p90,
                             .p99 = values.p99,
                             .p999 = spread.p999,
                             .max = values.max,
                             .mean = values.mean,
                             .count = values.count};
}

control::Json body_of(const Half& half) { return json::to_json(half); }

Result<Half> half_in(const control::Json& body) {
  return json::from_json<Half>(body, "rpc result");
}

control::Json progress_body(std::uint64_t progress) { return {{"progress", progress}}; }

Result<std::uint64_t> progress_in(const control::Json& body) {
  return json::field_in<std::uint64_t>(body, "progress", "rpc report", {.most = kMaxCount});
}

}  // namespace chokepoint::probe::rpc
