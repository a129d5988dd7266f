#include "probe/commands/udp_report.h"

#include <fmt/format.h>

#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/units.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::distribution_body;
using control::list_body;
using control::or_null;
using udp::Direction;

Json burst_body(const udp::Outcome& outcome) {
  if (!outcome.burst) {
    return {};
  }
  const auto packet_bytes = static_cast<double>(outcome.packet_bytes);
  return {{"batch_packets", outcome.burst->batch_packets},
          {"batch_bytes", outcome.burst->batch_packets * outcome.packet_bytes},
          {"bucket_packets", outcome.burst->bucket_packets},
          {"bucket_bytes", outcome.burst->bucket_packets * packet_bytes},
          {"hurried_ms", static_cast<double>(outcome.burst->hurried_ns) / kNsPerMs}};
}

Json udp_interval_body(const udp::Interval& interval) {
  return {{"start_s", interval.start_s},
          {"end_s", interval.end_s},
          {"bytes", interval.bytes},
          {"packets_received", interval.packets},
          {"lost", interval.lost},
          {"throughput_mbps", interval.throughput_mbps},
          {"jitter_ms", or_null(interval.jitter_ms)}};
}

Json udp_stream_body(const udp::StreamOutcome& stream) {
  return {{"throughput_mbps", stream.throughput_mbps},
          {"offered_mbps", stream.offered_mbps},
          {"packets_sent", stream.sent.packets},
          {"packets_received", stream.received.counts.received},
          {"lost", stream.received.lost},
          {"lost_in_receiver_queue", stream.received.lost_in_queue},
          {"out_of_order", stream.received.counts.out_of_order},
          {"duplicates", stream.received.counts.duplicates},
          {"beyond_window", stream.received.counts.ancient},
          {"ignored", stream.received.ignored},
          {"jitter_ms", or_null(stream.received.jitter_ms)}};
}

void add_direction(Json& body, const UdpJudged& judged,
                   const std::optional<udp::ClockOffset>& clock) {
  const udp::Outcome& outcome = judged.outcome;
  body["duration_s"] = outcome.duration_s;
  body["throughput_mbps"] = outcome.throughput_mbps;
  body["offered_mbps"] = outcome.offered_mbps;
  body["bytes"] = outcome.bytes;
  body["packets_sent"] = outcome.packets_sent;
  body["packets_received"] = outcome.packets_received;
  body["lost"] = outcome.lost;
  body["loss_percent"] = outcome.packets_sent == 0 ? Json() : Json(outcome.loss() * kPercent);
  body["lost_in_receiver_queue"] = outcome.lost_in_queue;
  body["dropped_by_sender_queue"] = outcome.dropped_by_sender;
  body["skipped_by_sender"] = outcome.skipped;
  body["sender_blocked_s"] = outcome.blocked_s;
  body["out_of_order"] = outcome.out_of_order;
  body["duplicates"] = outcome.duplicates;
  body["jitter_ms"] = or_null(outcome.jitter_ms);
  body["one_way_delay_ms"] =
      tells_delay(outcome, clock) ? distribution_body(outcome.delay_ms) : Json();
  body["burst"] = burst_body(outcome);
  body["segmentation_offload"] = outcome.segmented;
  body["receive_buffer_bytes"] = outcome.room_bytes > 0 ? Json(outcome.room_bytes) : Json();
  body["limit"] = name_of(judged.verdict.limit);
  body["summary"] = judged.verdict.sentence;
  body["intervals"] = list_body(outcome.intervals, udp_interval_body);
  body["per_stream"] = list_body(outcome.streams, udp_stream_body);
}

Json search_body(const UdpMeasured& measured) {
  if (!measured.searched) {
    return {};
  }
  Json body{{"trials", measured.trials},
            {"loss_limit_percent", measured.most_loss * kPercent},
            {"failed_at_mbps", Json()},
            {"failed_loss_percent", Json()}};
  if (measured.obstacle) {
    body["failed_at_mbps"] = measured.obstacle->bits_per_s / 1e6;
    body["failed_loss_percent"] = measured.obstacle->loss * kPercent;
  }
  return body;
}

}  // namespace

std::vector<UdpJudged> judge_all(const UdpMeasured& measured, const std::string& own,
                                 const std::string& peer) {
  std::vector<UdpJudged> judged;
  for (udp::Outcome& outcome :
       udp::outcomes_of(measured.result, measured.plan, measured.parameters.direction)) {
    const bool sends = outcome.direction == Direction::Send;
    UdpJudged one{.outcome = std::move(outcome)};
    one.verdict = udp::judge(one.outcome, {.asked_bits_per_s = measured.plan.bits_per_s,
                                           .searched = measured.searched && !measured.only_trials,
                                           .obstacle = measured.obstacle,
                                           .most_loss = measured.most_loss,
                                           .sender = sends ? own : peer,
                                           .receiver = sends ? peer : own});
    judged.push_back(std::move(one));
  }
  return judged;
}

bool tells_delay(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock) {
  return clock && outcome.delay_ms.count > 0 &&
         outcome.delay_ms.p99 > static_cast<double>(clock->uncertainty_ns) / kNsPerMs;
}

void add_to(Json& document, const UdpMeasured& measured, const std::vector<UdpJudged>& directions) {
  document["direction"] = name_of(measured.parameters.direction);
  document["streams"] = measured.parameters.streams;
  document["packet_bytes"] = measured.plan.packet_bytes;
  document["asked_mbps"] =
      measured.plan.bits_per_s > 0 ? Json(measured.plan.bits_per_s / 1e6) : Json();
  document["interrupted"] = measured.result.interrupted;
  document["search"] = search_body(measured);
  const auto& clock = measured.clock;
  document["clock_offset_ms"] =
      clock ? Json(static_cast<double>(clock->offset_ns) / kNsPerMs) : Json();
  document["clock_uncertainty_ms"] =
      clock ? Json(static_cast<double>(clock->uncertainty_ns) / kNsPerMs) : Json();
  document["rtt_min_ms"] =
      clock ? Json(static_cast<double>(clock->round_trip_ns) / kNsPerMs) : Json();
  if (directions.size() == 1) {
    add_direction(document, directions.front(), clock);
    return;
  }
  for (const UdpJudged& judged : directions) {
    add_direction(document[name_of(judged.outcome.direction)], judged, clock);
  }
}

}  // namespace chokepoint::probe
