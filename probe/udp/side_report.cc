#include "probe/udp/side_report.h"

#include "base/control/bodies.h"
#include "base/control/fields.h"

namespace chokepoint::probe::udp {
namespace {

using control::Fields;
using control::Json;
using control::list_body;
using control::list_in;
using control::or_null;

constexpr std::int64_t kMost = INT64_MAX;
constexpr double kMostNumber = 1e18;
constexpr std::size_t kLongestText = 256;

std::uint64_t count_in(Fields& in, const char* name) {
  return static_cast<std::uint64_t>(in.integer(name, 0, kMost));
}

Json burst_body(const std::optional<Burst>& burst) {
  if (!burst) {
    return {};
  }
  return {{"batch_packets", burst->batch_packets},
          {"bucket_packets", burst->bucket_packets},
          {"hurried_ns", burst->hurried_ns}};
}

Result<std::optional<Burst>> burst_in(const Json& body) {
  const auto at = body.find("burst");
  if (at == body.end() || at->is_null()) {
    return std::nullopt;
  }
  Fields in(*at, "burst");
  return in.finish(std::optional(
      Burst{.batch_packets = static_cast<std::uint32_t>(in.integer("batch_packets", 0, UINT32_MAX)),
            .bucket_packets = in.number("bucket_packets", 0, kMostNumber),
            .hurried_ns = in.integer("hurried_ns", 0, kMost)}));
}

Json sent_body(const SentFlow& flow) {
  return {{"packets", flow.packets},
          {"bytes", flow.bytes},
          {"duration_s", flow.duration_s},
          {"skipped", flow.skipped},
          {"dropped_here", flow.dropped_here},
          {"blocked_s", flow.blocked_s},
          {"segmented", flow.segmented},
          {"burst", burst_body(flow.burst)},
          {"error", flow.error}};
}

Result<SentFlow> sent_in(const Json& body) {
  Fields in(body, "sent flow");
  TRY(const std::optional<Burst> burst, burst_in(body));
  return in.finish(SentFlow{.packets = count_in(in, "packets"),
                            .bytes = count_in(in, "bytes"),
                            .duration_s = in.number("duration_s", 0, kMostNumber),
                            .skipped = count_in(in, "skipped"),
                            .dropped_here = count_in(in, "dropped_here"),
                            .blocked_s = in.number("blocked_s", 0, kMostNumber),
                            .segmented = in.boolean("segmented"),
                            .burst = burst,
                            .error = in.text("error", kLongestText)});
}

Json interval_body(const FlowInterval& interval) {
  return {{"packets", interval.packets},
          {"bytes", interval.bytes},
          {"missing", interval.missing},
          {"jitter_ms", or_null(interval.jitter_ms)}};
}

Result<FlowInterval> interval_in(const Json& body) {
  Fields in(body, "interval");
  return in.finish(FlowInterval{.packets = count_in(in, "packets"),
                                .bytes = count_in(in, "bytes"),
                                .missing = count_in(in, "missing"),
                                .jitter_ms = in.maybe_number("jitter_ms", 0, kMostNumber)});
}

Json received_body(const ReceivedFlow& flow) {
  return {{"received", flow.counts.received},
          {"duplicates", flow.counts.duplicates},
          {"out_of_order", flow.counts.out_of_order},
          {"ancient", flow.counts.ancient},
          {"bytes", flow.bytes},
          {"lost", flow.lost},
          {"lost_in_queue", flow.lost_in_queue},
          {"ignored", flow.ignored},
          {"bytes_per_s", or_null(flow.bytes_per_s)},
          {"jitter_ms", or_null(flow.jitter_ms)},
          {"intervals", list_body(flow.intervals, interval_body)}};
}

Result<ReceivedFlow> received_in(const Json& body) {
  Fields in(body, "received flow");
  TRY(std::vector<FlowInterval> intervals, list_in<FlowInterval>(body, "intervals", interval_in));
  return in.finish(ReceivedFlow{.counts = {.received = count_in(in, "received"),
                                           .duplicates = count_in(in, "duplicates"),
                                           .out_of_order = count_in(in, "out_of_order"),
                                           .ancient = count_in(in, "ancient")},
                                .bytes = count_in(in, "bytes"),
                                .lost = count_in(in, "lost"),
                                .lost_in_queue = count_in(in, "lost_in_queue"),
                                .ignored = count_in(in, "ignored"),
                                .bytes_per_s = in.maybe_number("bytes_per_s", 0, kMostNumber),
                                .jitter_ms = in.maybe_number("jitter_ms", 0, kMostNumber),
                                .intervals = std::move(intervals)});
}

Json delay_body(const math::Distribution& delay) {
  return {{"min", delay.min}, {"median", delay.median}, {"p99", delay.p99},
          {"max", delay.max}, {"mean", delay.mean},     {"count", delay.count}};
}

// A delay may be negative by as much as the clocks are uncertain.
Result<math::Distribution> delay_in(const Json& body) {
  Fields in(body, "delay");
  const auto number = [&](const char* name) { return in.number(name, -kMostNumber, kMostNumber); };
  return in.finish(math::Distribution{.min = number("min"),
                                      .median = number("median"),
                                      .p99 = number("p99"),
                                      .max = number("max"),
                                      .mean = number("mean"),
                                      .count = count_in(in, "count")});
}

}  // namespace

SentFlow sent_flow(const SendOutcome& outcome) {
  const SendTally& tally = outcome.tally;
  const double rate = bytes_per_second(tally).value_or(0);
  return {.packets = tally.packets,
          .bytes = tally.bytes,
          .duration_s = rate > 0 ? static_cast<double>(tally.bytes) / rate : 0,
          .skipped = tally.skipped,
          .dropped_here = tally.dropped_here,
          .blocked_s = static_cast<double>(tally.blocked_ns) / 1e9,
          .segmented = tally.segmented,
          .burst = tally.burst,
          .error = outcome.error ? outcome.error->reason : ""};
}

ReceivedFlow received_flow(const FlowMeter& meter, std::uint64_t sent) {
  return {.counts = meter.sequence().counts(),
          .bytes = meter.bytes(),
          .lost = meter.sequence().lost(sent),
          .lost_in_queue = meter.lost_in_queue(sent),
          .ignored = meter.foreign(),
          .bytes_per_s = meter.bytes_per_second(),
          .jitter_ms = meter.jitter_ms(),
          .intervals = meter.intervals()};
}

Json body_of(const SideReport& report) {
  return {{"sent", list_body(report.sent, sent_body)},
          {"received", list_body(report.received, received_body)},
          {"delay_ms", delay_body(report.delay_ms)},
          {"room_bytes", report.room_bytes}};
}

Result<SideReport> side_report_in(const Json& body) {
  Fields in(body, "udp report");
  TRY(std::vector<SentFlow> sent, list_in<SentFlow>(body, "sent", sent_in));
  TRY(std::vector<ReceivedFlow> received, list_in<ReceivedFlow>(body, "received", received_in));
  TRY(const math::Distribution delay, delay_in(in.object("delay_ms")));
  return in.finish(SideReport{.sent = std::move(sent),
                              .received = std::move(received),
                              .delay_ms = delay,
                              .room_bytes = in.integer("room_bytes", 0, kMost)});
}

}  // namespace chokepoint::probe::udp
