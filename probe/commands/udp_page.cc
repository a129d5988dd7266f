#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>

#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/directions.h"
#include "probe/commands/reports.h"

namespace chokepoint {
namespace probe {
namespace {

struct BurstShown {
  udp::Burst burst;
  std::size_t packet_bytes = 0;

  double batch_bytes() const { return static_cast<double>(burst.batch_packets * packet_bytes); }
  double bucket_bytes() const { return burst.bucket_packets * static_cast<double>(packet_bytes); }
};

}  // namespace
}  // namespace probe

template <>
struct Fields<probe::BurstShown> {
  using S = probe::BurstShown;
  using B = probe::udp::Burst;
  static constexpr std::tuple kList{
      within(&S::burst, field("batch_packets", &B::batch_packets, "most sent back to back")),
      computed<S>(
          "batch_bytes", [](const S& s) { return s.burst.batch_packets * s.packet_bytes; },
          "their payload"),
      within(&S::burst, field("bucket_packets", &B::bucket_packets,
                              "size of a token bucket of this rate that lets all pass undelayed")),
      computed<S>(
          "bucket_bytes", [](const S& s) { return s.bucket_bytes(); }, "their payload"),
      computed<S>(
          "hurried_ms",
          [](const S& s) { return static_cast<double>(s.burst.hurried_ns) / math::kNsPerMs; },
          "longest time in which batches followed each other too fast")};
};

template <>
struct Fields<probe::udp::Interval> {
  using I = probe::udp::Interval;
  static constexpr std::tuple kList{
      field("start_s", &I::start_s, "since the first arrival"),
      field("end_s", &I::end_s, "since the first arrival"),
      field("bytes", &I::bytes, "payload that arrived"),
      field("packets_received", &I::packets, "each once"),
      field("lost", &I::lost, "packets missing from gaps that opened in this interval"),
      field("throughput_mbps", &I::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      field("jitter_ms", &I::jitter_ms, "RFC 3550, at the end; of the worst stream")};
};

template <>
struct Fields<probe::udp::StreamOutcome> {
  using S = probe::udp::StreamOutcome;
  using R = probe::udp::ReceivedFlow;
  using C = probe::udp::SequenceCounts;
  static constexpr std::tuple kList{
      field("throughput_mbps", &S::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      field("offered_mbps", &S::offered_mbps, "payload that was sent, 10^6 bit/s"),
      within(&S::sent, field("packets_sent", &probe::udp::SentFlow::packets, "by its sender")),
      within(&S::received,
             within(&R::counts, field("packets_received", &C::received, "each once"))),
      within(&S::received, field("lost", &R::lost, "packets sent that did not arrive")),
      within(&S::received, field("lost_in_receiver_queue", &R::lost_in_queue, "of the lost")),
      within(&S::received, within(&R::counts, field("out_of_order", &C::out_of_order,
                                                    "packets after a higher number"))),
      within(&S::received,
             within(&R::counts, field("duplicates", &C::duplicates, "further copies of packets"))),
      within(&S::received,
             within(&R::counts, field("beyond_window", &C::ancient,
                                      "packets too late to tell if they are copies"))),
      within(&S::received, field("ignored", &R::ignored, "of an earlier run or another sender")),
      within(&S::received, field("jitter_ms", &R::jitter_ms, "interarrival jitter, RFC 3550"))};
};

template <>
struct Fields<probe::udp::Outcome> {
  using O = probe::udp::Outcome;
  static constexpr std::tuple kList{
      field("duration_s", &O::duration_s, "of sending"),
      field("throughput_mbps", &O::throughput_mbps, "payload that arrived, 10^6 bit/s"),
      field("offered_mbps", &O::offered_mbps, "payload that was sent, 10^6 bit/s"),
      field("bytes", &O::bytes, "payload that arrived"),
      field("packets_sent", &O::packets_sent, "by the sender's count"),
      field("packets_received", &O::packets_received, "each once"),
      field("lost", &O::lost, "packets sent that did not arrive"),
      computed<O>(
          "loss_percent",
          [](const O& o) {
            return o.packets_sent == 0 ? std::nullopt : std::optional(o.loss() * math::kPercent);
          },
          "of the packets sent"),
      field("lost_in_receiver_queue", &O::lost_in_queue, "of the lost: by the receiving socket"),
      field("dropped_by_sender_queue", &O::dropped_by_sender, "of the lost: by the interface"),
      field("skipped_by_sender", &O::skipped, "packets never sent, after a stall of the sender"),
      field("sender_blocked_s", &O::blocked_s, "while the sender's interface took no more"),
      field("out_of_order", &O::out_of_order, "packets after a higher number"),
      field("duplicates", &O::duplicates, "further copies of packets"),
      field("jitter_ms", &O::jitter_ms, "interarrival jitter, RFC 3550; mean over the streams"),
      computed<O>(
          "one_way_delay_ms", [](const O& o) { return control::if_measured(o.delay_ms); },
          "null where the clocks' offset is not known well enough"),
      computed<O>(
          "burst",
          [](const O& o) {
            return o.burst ? std::optional(probe::BurstShown{*o.burst, o.packet_bytes})
                           : std::nullopt;
          },
          "how evenly packets were sent; null without a rate"),
      computed<O>(
          "pacing",
          [](const O& o) { return o.burst ? std::optional<std::string>("program") : std::nullopt; },
          "what kept the sender to the rate: this program's own clock; null without a rate"),
      field("segmentation_offload", &O::segmented, "the kernel cut messages into packets (GSO)"),
      computed<O>(
          "receive_buffer_bytes",
          [](const O& o) { return o.room_bytes > 0 ? std::optional(o.room_bytes) : std::nullopt; },
          "of the receiving socket"),
      computed<O>(
          "limit", [](const O& o) { return name_of(o.verdict.limit); },
          "what limited the rate: see docs/internals/udp.md"),
      within(&O::verdict, field("summary", &probe::udp::Verdict::sentence, "the limit in words")),
      field("intervals", &O::intervals, "of all streams together"),
      field("per_stream", &O::streams, "each flow")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using udp::Direction;

// Are the measured delays larger than the uncertainty of the clocks' offset?
bool is_delay_known(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock) {
  return clock && outcome.delay_ms.count > 0 &&
         outcome.delay_ms.p99 > static_cast<double>(clock->uncertainty_ns) / math::kNsPerMs;
}

Json search_body(const UdpMeasured& measured) {
  if (!measured.searched) {
    return {};
  }
  Json body{{"trials", measured.trials},
            {"loss_limit_percent", measured.max_loss * math::kPercent},
            {"failed_at_mbps", Json()},
            {"failed_loss_percent", Json()}};
  if (measured.obstacle) {
    body["failed_at_mbps"] = measured.obstacle->bits_per_s / math::kMega;
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
  const BurstShown shown{*outcome.burst, outcome.packet_bytes};
  return fmt::format("{} packets ({}) at once; a bucket of {} lets all pass",
                     outcome.burst->batch_packets, math::format_bytes(shown.batch_bytes()),
                     math::format_bytes(shown.bucket_bytes()));
}

std::string delay_text(const udp::Outcome& outcome, const std::optional<udp::ClockOffset>& clock) {
  if (outcome.delay_ms.count == 0) {
    return clock ? "less than the clocks can tell" : "not measured";
  }
  return fmt::format("{} (p99 {}, max {}), known to {}", math::format_ms(outcome.delay_ms.median),
                     math::format_ms(outcome.delay_ms.p99), math::format_ms(outcome.delay_ms.max),
                     math::format_duration(std::chrono::nanoseconds(clock->uncertainty_ns)));
}

DirectionRows<udp::Outcome> udp_rows(const std::optional<udp::ClockOffset>& clock) {
  return {
      {"received", [](const auto& each) { return rate_text(each.throughput_mbps); }},
      {"offered", [](const auto& each) { return rate_text(each.offered_mbps); }},
      {"packets sent", [](const auto& each) { return std::to_string(each.packets_sent); }},
      {"packets received", [](const auto& each) { return std::to_string(each.packets_received); }},
      {"lost", lost_text},
      {"out of order", [](const auto& each) { return std::to_string(each.out_of_order); }},
      {"duplicates", [](const auto& each) { return std::to_string(each.duplicates); }},
      {"jitter",
       [](const auto& each) {
         return each.jitter_ms ? math::format_ms(*each.jitter_ms) : "not measured";
       }},
      {"largest burst", burst_text},
      {"one-way delay", [clock](const auto& each) { return delay_text(each, clock); }}};
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

std::vector<udp::Outcome> judge_all(const UdpMeasured& measured, const std::string& own,
                                    const std::string& peer) {
  std::vector<udp::Outcome> outcomes =
      outcomes_of(measured.result, measured.plan, measured.parameters.direction);
  for (udp::Outcome& outcome : outcomes) {
    const bool sends = outcome.direction == Direction::Send;
    outcome.verdict = judge(outcome, {.asked_bits_per_s = measured.plan.bits_per_s,
                                      .searched = measured.searched && !measured.only_trials,
                                      .obstacle = measured.obstacle,
                                      .max_loss = measured.max_loss,
                                      .sender = sends ? own : peer,
                                      .receiver = sends ? peer : own});
    if (!is_delay_known(outcome, measured.clock)) {
      outcome.delay_ms = {};
    }
  }
  return outcomes;
}

void add_to(Json& document, const UdpMeasured& measured,
            const std::vector<udp::Outcome>& directions) {
  document["direction"] = name_of(measured.parameters.direction);
  document["streams"] = measured.parameters.streams;
  document["packet_bytes"] = measured.plan.packet_bytes;
  document["asked_mbps"] =
      measured.plan.bits_per_s > 0 ? Json(measured.plan.bits_per_s / math::kMega) : Json();
  document["interrupted"] = measured.result.interrupted;
  document["search"] = search_body(measured);
  const auto clock_ms = [&](std::int64_t udp::ClockOffset::* part) {
    return measured.clock ? Json(static_cast<double>((*measured.clock).*part) / math::kNsPerMs)
                          : Json();
  };
  document["clock_offset_ms"] = clock_ms(&udp::ClockOffset::offset_ns);
  document["clock_uncertainty_ms"] = clock_ms(&udp::ClockOffset::uncertainty_ns);
  document["rtt_min_ms"] = clock_ms(&udp::ClockOffset::round_trip_ns);
  if (directions.size() == 1) {
    document.update(json::to_json(directions.front()));
    return;
  }
  for (const udp::Outcome& outcome : directions) {
    document[name_of(outcome.direction)] = json::to_json(outcome);
  }
}

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<udp::Outcome>& directions) {
  print_directions(context, directions, udp_rows(measured.clock));
  for (const udp::Outcome& outcome : directions) {
    fmt::print(context.out, "{}: {}.\n", direction_text(outcome.direction),
               outcome.verdict.sentence);
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
