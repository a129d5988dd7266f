#include "probe/tcp/measurement.h"

#include "base/control/bodies.h"
#include "base/control/limits.h"
#include "base/documents/bounds.h"

namespace chokepoint {

template <>
struct EnumNames<probe::tcp::Role> {
  using enum probe::tcp::Role;
  static constexpr std::string_view kWhat = "send or receive";
  static constexpr auto kNames =
      std::to_array<EnumName<probe::tcp::Role>>({{Send, "send"}, {Receive, "receive"}});
};

template <>
struct Fields<net::TcpChrono> {
  using C = net::TcpChrono;
  static constexpr FieldList kList{field("busy_us", &C::busy_us).at_least(0),
                                   field("receive_window_us", &C::receive_window_us).at_least(0),
                                   field("send_buffer_us", &C::send_buffer_us).at_least(0)};
};

template <>
struct Fields<probe::tcp::StreamMeasure> {
  using S = probe::tcp::StreamMeasure;
  static constexpr FieldList kList{
      field("role", &S::role),
      field("index", &S::index).between(0, 1'000'000),
      field("total_bytes", &S::total_bytes, "with the omitted start").at_most(kMaxCount),
      field("bytes", &S::bytes, "without it").at_most(kMaxCount),
      field("start_s", &S::start_s, "since the test began").between(0, control::kMaxReportedTime),
      field("end_s", &S::end_s, "since the test began").between(0, control::kMaxReportedTime),
      field("retransmits", &S::retransmits).at_most(kMaxCount),
      field("max_cwnd_bytes", &S::max_cwnd_bytes).at_most(kMaxCount),
      field("rtt_ms", &S::rtt_ms).between(0, control::kMaxReportedTime),
      field("min_rtt_ms", &S::min_rtt_ms).between(0, control::kMaxReportedTime),
      field("mss_bytes", &S::mss_bytes).at_least(0),
      field("congestion", &S::congestion).up_to_bytes(256),
      field("chrono", &S::chrono, "of a sender"),
      field("chrono_us", &S::chrono_us, "the time that 'chrono' covers").at_least(0),
      field("starved_share", &S::starved_share, "of samples").between(0, 1),
      field("send_window_bytes", &S::send_window_bytes).at_most(kMaxCount),
      field("cpu_percent", &S::cpu_percent, "of the stream's thread").between(0, 1e6),
      field("error", &S::error).up_to_bytes(256)};
};

template <>
struct Fields<probe::tcp::IntervalMeasure> {
  using I = probe::tcp::IntervalMeasure;
  static constexpr FieldList kList{
      field("role", &I::role),
      field("start_s", &I::start_s, "since the test began").between(0, control::kMaxReportedTime),
      field("end_s", &I::end_s, "since the test began").between(0, control::kMaxReportedTime),
      field("bytes", &I::bytes).at_most(kMaxCount),
      field("retransmits", &I::retransmits).at_most(kMaxCount),
      field("cwnd_bytes", &I::cwnd_bytes, "of all streams together").at_most(kMaxCount),
      field("rtt_ms", &I::rtt_ms, "mean over the streams").between(0, control::kMaxReportedTime)};
};

template <>
struct Fields<probe::tcp::HostMeasure> {
  using H = probe::tcp::HostMeasure;
  static constexpr FieldList kList{
      field("cpu_percent", &H::cpu_percent, "of the streams' threads")
          .between(0, documents::kMaxPercent),
      field("softirq_percent", &H::softirq_percent, "of the core with most of it")
          .between(0, documents::kMaxPercent),
      field("softirq_core", &H::softirq_core).between(0, 1'000'000),
      field("busiest_core_percent", &H::busiest_core_percent).between(0, documents::kMaxPercent),
      field("pacing", &H::pacing, "of a sender")};
};

template <>
struct Fields<probe::tcp::Half> {
  using H = probe::tcp::Half;
  static constexpr FieldList kList{field("streams", &H::streams), field("intervals", &H::intervals),
                                   field("host", &H::host)};
};

}  // namespace chokepoint

namespace chokepoint::probe::tcp {

control::Json body_of(const IntervalMeasure& interval) { return json::to_json(interval); }

Result<IntervalMeasure> interval_in(const control::Json& body) {
  return json::from_json<IntervalMeasure>(body, "tcp interval");
}

control::Json body_of(const Half& half) { return json::to_json(half); }

Result<Half> half_in(const control::Json& body) {
  return json::from_json<Half>(body, "tcp result");
}

}  // namespace chokepoint::probe::tcp
