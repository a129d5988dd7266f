#include "probe/quic/measurement.h"

#include "base/control/bodies.h"
#include "base/control/limits.h"
#include "base/documents/bounds.h"

namespace chokepoint {
namespace probe::quic {
namespace {
constexpr std::size_t kMaxStreams = 1024;
constexpr std::size_t kMaxReportedIntervals = 100'000;
}  // namespace
}  // namespace probe::quic

template <>
struct Fields<probe::quic::SentMeasure> {
  using S = probe::quic::SentMeasure;
  static constexpr FieldList kList{
      field("bytes", &S::bytes).at_most(kMaxCount),
      field("packets", &S::packets).at_most(kMaxCount),
      field("lost_packets", &S::lost_packets).at_most(kMaxCount),
      field("refused_packets", &S::refused_packets).at_most(kMaxCount),
      field("calls", &S::calls).at_most(kMaxCount),
      field("ect0_packets", &S::ect0_packets).at_most(kMaxCount),
      field("max_cwnd_bytes", &S::max_cwnd_bytes).at_most(kMaxCount),
      field("packet_bytes", &S::packet_bytes).between(0, 65535),
      field("rtt_ms", &S::rtt_ms).between(0, control::kMaxReportedTime),
      field("min_rtt_ms", &S::min_rtt_ms).between(0, control::kMaxReportedTime),
      field("segmentation", &S::segmentation),
      field("shares", &S::shares)};
};

template <>
struct Fields<probe::quic::ReceivedMeasure> {
  using R = probe::quic::ReceivedMeasure;
  static constexpr FieldList kList{
      field("bytes", &R::bytes).at_most(kMaxCount),
      field("packets", &R::packets).at_most(kMaxCount),
      field("calls", &R::calls).at_most(kMaxCount),
      field("ect0_packets", &R::ect0_packets).at_most(kMaxCount),
      field("ce_packets", &R::ce_packets).at_most(kMaxCount),
      field("start_s", &R::start_s).between(0, control::kMaxReportedTime),
      field("end_s", &R::end_s).between(0, control::kMaxReportedTime),
      field("stream_bytes", &R::stream_bytes).up_to_items(probe::quic::kMaxStreams)};
};

template <>
struct Fields<probe::quic::IntervalMeasure> {
  using I = probe::quic::IntervalMeasure;
  static constexpr FieldList kList{
      field("start_s", &I::start_s).between(0, control::kMaxReportedTime),
      field("end_s", &I::end_s).between(0, control::kMaxReportedTime),
      field("sent_bytes", &I::sent_bytes).at_most(kMaxCount),
      field("received_bytes", &I::received_bytes).at_most(kMaxCount),
      field("lost_packets", &I::lost_packets).at_most(kMaxCount),
      field("cwnd_bytes", &I::cwnd_bytes).at_most(kMaxCount),
      field("rtt_ms", &I::rtt_ms).between(0, control::kMaxReportedTime)};
};

template <>
struct Fields<probe::quic::HostMeasure> {
  using H = probe::quic::HostMeasure;
  static constexpr FieldList kList{
      field("cpu_percent", &H::cpu_percent).between(0, documents::kMaxPercent),
      field("busy_percent", &H::busy_percent).between(0, documents::kMaxPercent),
      field("softirq_percent", &H::softirq_percent).between(0, documents::kMaxPercent),
      field("softirq_core", &H::softirq_core).between(0, 1'000'000)};
};

template <>
struct Fields<probe::quic::Half> {
  using H = probe::quic::Half;
  static constexpr FieldList kList{
      field("sent", &H::sent), field("received", &H::received), field("host", &H::host),
      field("intervals", &H::intervals).up_to_items(probe::quic::kMaxReportedIntervals),
      field("library", &H::library).up_to_bytes(64)};
};

}  // namespace chokepoint

namespace chokepoint::probe::quic {

control::Json certificate_body(const Fingerprint& certificate) {
  return {{"certificate", control::to_hex(certificate)}};
}

Result<Fingerprint> certificate_in(const control::Json& body) {
  return json::field_in<Fingerprint>(body, "certificate", "quic begin");
}

control::Json body_of(const IntervalMeasure& interval) { return json::to_json(interval); }

Result<IntervalMeasure> interval_in(const control::Json& body) {
  return json::from_json<IntervalMeasure>(body, "quic interval");
}

control::Json body_of(const Half& half) { return json::to_json(half); }

Result<Half> half_in(const control::Json& body) {
  return json::from_json<Half>(body, "quic result");
}

}  // namespace chokepoint::probe::quic
