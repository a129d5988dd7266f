#include "probe/commands/udp_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>

#include "base/math/units.h"
#include "probe/commands/directions.h"

namespace chokepoint::probe {
namespace {

using documents::UdpFigures;
using udp::Direction;

double ms_of(std::int64_t ns) { return static_cast<double>(ns) / math::kNsPerMs; }

// Are the measured delays larger than the uncertainty of the clocks' offset?
bool is_delay_known(const UdpFigures& figures, const std::optional<udp::ClockOffset>& clock) {
  return clock && figures.one_way_delay_ms &&
         figures.one_way_delay_ms->p99 > ms_of(clock->uncertainty_ns);
}

std::optional<documents::UdpSearch> search_of(const UdpMeasured& measured) {
  if (!measured.searched) {
    return std::nullopt;
  }
  documents::UdpSearch search{.trials = measured.trials,
                              .loss_limit_percent = measured.max_loss * math::kPercent};
  if (measured.obstacle) {
    search.failed_at_mbps = measured.obstacle->bits_per_s / math::kMega;
    search.failed_loss_percent = measured.obstacle->loss * math::kPercent;
  }
  return search;
}

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

std::string lost_text(const UdpFigures& figures) {
  std::string text = fmt::format("{} ({:.4f} %)", figures.lost, figures.loss_percent.value_or(0));
  if (figures.lost_in_receiver_queue.value_or(0) > 0) {
    text += fmt::format(", {} of them by the receiver's socket", *figures.lost_in_receiver_queue);
  }
  if (figures.dropped_by_sender_queue.value_or(0) > 0) {
    text += fmt::format(", {} by the sender's interface", *figures.dropped_by_sender_queue);
  }
  return text;
}

std::string burst_text(const UdpFigures& figures) {
  if (!figures.burst) {
    return "not paced";
  }
  const documents::UdpBurst& burst = *figures.burst;
  return fmt::format("{} packets ({}) at once; a bucket of {} lets all pass", burst.batch_packets,
                     math::format_bytes(static_cast<double>(burst.batch_bytes)),
                     math::format_bytes(burst.bucket_bytes));
}

std::string delay_text(const UdpFigures& figures, const std::optional<udp::ClockOffset>& clock) {
  if (!figures.one_way_delay_ms) {
    return clock ? "less than the clocks' error" : "not measured";
  }
  const math::Distribution& delay_ms = *figures.one_way_delay_ms;
  return fmt::format("{} (p99 {}, max {}), known to {}", math::format_ms(delay_ms.median),
                     math::format_ms(delay_ms.p99), math::format_ms(delay_ms.max),
                     math::format_duration(std::chrono::nanoseconds(clock->uncertainty_ns)));
}

DirectionRows<udp::Outcome> udp_rows(const std::optional<udp::ClockOffset>& clock) {
  const auto of_figures = [](auto text) {
    return [text](const udp::Outcome& outcome) { return text(outcome.figures); };
  };
  return {
      {"received", of_figures([](const auto& each) { return rate_text(each.throughput_mbps); })},
      {"offered", of_figures([](const auto& each) { return rate_text(each.offered_mbps); })},
      {"packets sent",
       of_figures([](const auto& each) { return std::to_string(each.packets_sent); })},
      {"packets received",
       of_figures([](const auto& each) { return std::to_string(each.packets_received); })},
      {"lost", of_figures(lost_text)},
      {"out of order",
       of_figures([](const auto& each) { return std::to_string(each.out_of_order.value_or(0)); })},
      {"duplicates",
       of_figures([](const auto& each) { return std::to_string(each.duplicates.value_or(0)); })},
      {"jitter", of_figures([](const auto& each) {
         return each.jitter_ms ? math::format_ms(*each.jitter_ms) : "not measured";
       })},
      {"largest burst", of_figures(burst_text)},
      {"one-way delay", of_figures([clock](const auto& each) { return delay_text(each, clock); })}};
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
    udp::Verdict verdict = judge(outcome, {.asked_bits_per_s = measured.plan.bits_per_s,
                                           .searched = measured.searched && !measured.only_trials,
                                           .obstacle = measured.obstacle,
                                           .max_loss = measured.max_loss,
                                           .sender = sends ? own : peer,
                                           .receiver = sends ? peer : own});
    outcome.figures.limit = verdict.limit;
    outcome.figures.summary = std::move(verdict.sentence);
    if (!is_delay_known(outcome.figures, measured.clock)) {
      outcome.figures.one_way_delay_ms.reset();
    }
  }
  return outcomes;
}

documents::ProbeUdp document_of(const udp::Parameters& parameters, std::size_t packet_bytes,
                                double bits_per_s, const std::vector<udp::Outcome>& directions) {
  documents::ProbeUdp document{.direction = parameters.direction,
                               .streams = parameters.streams,
                               .packet_bytes = packet_bytes};
  if (bits_per_s > 0) {
    document.asked_mbps = bits_per_s / math::kMega;
  }
  for (const udp::Outcome& outcome : directions) {
    document.by_direction.set(document.direction, outcome.direction, outcome.figures);
  }
  return document;
}

documents::ProbeUdp document_of(const UdpMeasured& measured,
                                const std::vector<udp::Outcome>& directions) {
  documents::ProbeUdp document = document_of(measured.parameters, measured.plan.packet_bytes,
                                             measured.plan.bits_per_s, directions);
  document.interrupted = measured.result.interrupted;
  document.search = search_of(measured);
  if (measured.clock) {
    document.clock_offset_ms = ms_of(measured.clock->offset_ns);
    document.clock_uncertainty_ms = ms_of(measured.clock->uncertainty_ns);
    document.rtt_min_ms = ms_of(measured.clock->round_trip_ns);
  }
  return document;
}

void print_page(const cli::Context& context, const UdpMeasured& measured,
                const std::vector<udp::Outcome>& directions) {
  print_directions(context, directions, udp_rows(measured.clock));
  for (const udp::Outcome& outcome : directions) {
    fmt::print(context.out, "{}: {}.\n", direction_text(outcome.direction),
               outcome.figures.summary);
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
