#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <cmath>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/foreign_peer.h"
#include "probe/commands/udp_report.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::distribution_body;
using control::list_body;
using control::or_null;
using udp::Direction;

// Are the measured delays larger than the uncertainty of the clocks' offset?
bool is_delay_known(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock) {
  return clock && outcome.delay_ms.count > 0 &&
         outcome.delay_ms.p99 > static_cast<double>(clock->uncertainty_ns) / math::kNsPerMs;
}

Json burst_body(const udp::Outcome& outcome) {
  if (!outcome.burst) {
    return {};
  }
  const auto packet_bytes = static_cast<double>(outcome.packet_bytes);
  return {{"batch_packets", outcome.burst->batch_packets},
          {"batch_bytes", outcome.burst->batch_packets * outcome.packet_bytes},
          {"bucket_packets", outcome.burst->bucket_packets},
          {"bucket_bytes", outcome.burst->bucket_packets * packet_bytes},
          {"hurried_ms", static_cast<double>(outcome.burst->hurried_ns) / math::kNsPerMs}};
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
  body["loss_percent"] = outcome.packets_sent == 0 ? Json() : Json(outcome.loss() * math::kPercent);
  body["lost_in_receiver_queue"] = outcome.lost_in_queue;
  body["dropped_by_sender_queue"] = outcome.dropped_by_sender;
  body["skipped_by_sender"] = outcome.skipped;
  body["sender_blocked_s"] = outcome.blocked_s;
  body["out_of_order"] = outcome.out_of_order;
  body["duplicates"] = outcome.duplicates;
  body["jitter_ms"] = or_null(outcome.jitter_ms);
  body["one_way_delay_ms"] =
      is_delay_known(outcome, clock) ? distribution_body(outcome.delay_ms) : Json();
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
            {"loss_limit_percent", measured.most_loss * math::kPercent},
            {"failed_at_mbps", Json()},
            {"failed_loss_percent", Json()}};
  if (measured.obstacle) {
    body["failed_at_mbps"] = measured.obstacle->bits_per_s / 1e6;
    body["failed_loss_percent"] = measured.obstacle->loss * math::kPercent;
  }
  return body;
}

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

std::string lost_text(const udp::Outcome& outcome) {
  std::string text = fmt::format("{} ({:.4f} %)", outcome.lost, outcome.loss() * math::kPercent);
  if (outcome.lost_in_queue > 0) {
    text += fmt::format(", {} of them by the receiver's socket", outcome.lost_in_queue);
  }
  if (outcome.dropped_by_sender > 0) {
    text += fmt::format(", {} by the sender's interface", outcome.dropped_by_sender);
  }
  return text;
}

std::string burst_text(const udp::Outcome& outcome) {
  if (!outcome.burst) {
    return "not paced";
  }
  const double packet_bytes = static_cast<double>(outcome.packet_bytes);
  return fmt::format("{} packets ({}) at once; a bucket of {} lets all pass",
                     outcome.burst->batch_packets,
                     math::format_bytes(outcome.burst->batch_packets * packet_bytes),
                     math::format_bytes(outcome.burst->bucket_packets * packet_bytes));
}

std::string milliseconds_text(double value) {
  return math::format_duration(std::chrono::nanoseconds(std::llround(value * math::kNsPerMs)));
}

struct UdpRow {
  std::string_view title;
  std::string (*value)(const udp::Outcome& outcome);
};

constexpr std::array kUdpRows{
    UdpRow{"received", [](const udp::Outcome& each) { return rate_text(each.throughput_mbps); }},
    UdpRow{"offered", [](const udp::Outcome& each) { return rate_text(each.offered_mbps); }},
    UdpRow{"packets sent",
           [](const udp::Outcome& each) { return std::to_string(each.packets_sent); }},
    UdpRow{"packets received",
           [](const udp::Outcome& each) { return std::to_string(each.packets_received); }},
    UdpRow{"lost", lost_text},
    UdpRow{"out of order",
           [](const udp::Outcome& each) { return std::to_string(each.out_of_order); }},
    UdpRow{"duplicates", [](const udp::Outcome& each) { return std::to_string(each.duplicates); }},
    UdpRow{"jitter",
           [](const udp::Outcome& each) {
             return each.jitter_ms ? milliseconds_text(*each.jitter_ms) : "not measured";
           }},
    UdpRow{"largest burst", burst_text},
};

std::string delay_text(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock) {
  if (!is_delay_known(outcome, clock)) {
    return clock ? "less than the clocks can tell" : "not measured";
  }
  return fmt::format("{} (p99 {}, max {}), known to {}", milliseconds_text(outcome.delay_ms.median),
                     milliseconds_text(outcome.delay_ms.p99),
                     milliseconds_text(outcome.delay_ms.max),
                     math::format_duration(std::chrono::nanoseconds(clock->uncertainty_ns)));
}

std::string_view words_of(udp::TrialEnd end) {
  constexpr std::array<std::string_view, 6> kWords{"good",
                                                   "the network lost",
                                                   "the receiver's socket lost",
                                                   "a queue fills up",
                                                   "the sender gives no more",
                                                   "the sender was stalled: once more"};
  return kWords.at(static_cast<std::size_t>(end));
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
      clock ? Json(static_cast<double>(clock->offset_ns) / math::kNsPerMs) : Json();
  document["clock_uncertainty_ms"] =
      clock ? Json(static_cast<double>(clock->uncertainty_ns) / math::kNsPerMs) : Json();
  document["rtt_min_ms"] =
      clock ? Json(static_cast<double>(clock->round_trip_ns) / math::kNsPerMs) : Json();
  if (directions.size() == 1) {
    add_direction(document, directions.front(), clock);
    return;
  }
  for (const UdpJudged& judged : directions) {
    add_direction(document[name_of(judged.outcome.direction)], judged, clock);
  }
}

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<UdpJudged>& directions) {
  std::vector<cli::Column> columns{{""}};
  for (const UdpJudged& judged : directions) {
    columns.push_back({direction_text(judged.outcome.direction)});
  }
  cli::Table table(columns);
  for (const UdpRow& row : kUdpRows) {
    std::vector<cli::Cell> cells{{std::string(row.title)}};
    for (const UdpJudged& judged : directions) {
      cells.emplace_back(row.value(judged.outcome));
    }
    table.add(std::move(cells));
  }
  std::vector<cli::Cell> delays{{"one-way delay"}};
  for (const UdpJudged& judged : directions) {
    delays.emplace_back(delay_text(judged.outcome, measured.clock));
  }
  table.add(std::move(delays));
  table.print(context.out, context.out_terminal);
  context.out << '\n';
  for (const UdpJudged& judged : directions) {
    fmt::print(context.out, "{}: {}.\n", direction_text(judged.outcome.direction),
               judged.verdict.sentence);
  }
  if (measured.only_trials && !measured.result.interrupted) {
    context.out << "No rate arrived whole: this is one of the trials.\n";
  }
  if (measured.result.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

UdpLive::UdpLive(const cli::Context& context)
    : context_(context), visible_(context.err_terminal.interactive && !context.quiet) {}

void UdpLive::show(const udp::Trial& trial, udp::TrialEnd end) const {
  if (visible_) {
    fmt::print(context_.err, "trial {:>12}  arrived {:>12}  lost {:8.4f} %  {}\n",
               math::format_rate(trial.bits_per_s), math::format_rate(trial.delivered_bits_per_s),
               trial.loss * math::kPercent, words_of(end));
    context_.err << std::flush;
  }
}

void UdpLive::show(const udp::Live& live, Direction direction, std::chrono::nanoseconds interval) {
  const auto whole =
      static_cast<std::int64_t>(live.elapsed_s / std::chrono::duration<double>(interval).count());
  // The server's report comes a little after the interval's end.
  const bool is_reported =
      direction == Direction::Receive || live.peer_received.packets > last_.peer_received.packets;
  if (!visible_ || whole <= shown_ || !is_reported) {
    return;
  }
  shown_ = whole;
  if (direction != Direction::Receive) {
    line("->", live.elapsed_s, live.peer_received, last_.peer_received);
  }
  if (direction != Direction::Send) {
    line("<-", live.elapsed_s, live.received, last_.received);
  }
  last_ = live;
}

void UdpLive::line(std::string_view arrow, double elapsed_s, const udp::LiveCounts& now,
                   const udp::LiveCounts& before) const {
  const double duration_s = elapsed_s - last_.elapsed_s;
  const double bits = static_cast<double>(now.bytes - before.bytes) * 8 / duration_s;
  fmt::print(context_.err, "{} {:7.1f} s  {:>12}  lost so far {}\n", arrow, elapsed_s,
             math::format_rate(bits), now.missing);
  context_.err << std::flush;
}

}  // namespace chokepoint::probe
