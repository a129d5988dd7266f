#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <cmath>

#include "base/cli/table.h"
#include "base/math/units.h"
#include "probe/commands/direction_text.h"
#include "probe/commands/udp_report.h"
#include "probe/commands/units.h"

namespace chokepoint::probe {
namespace {

using udp::Direction;

std::string rate_text(double mbps) { return math::format_rate(mbps * kMega); }

std::string lost_text(const udp::Outcome& outcome) {
  std::string text = fmt::format("{} ({:.4f} %)", outcome.lost, outcome.loss() * kPercent);
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
  return math::format_duration(std::chrono::nanoseconds(std::llround(value * kNsPerMs)));
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
  if (!tells_delay(outcome, clock)) {
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
    context.out << "Interrupted: this is what was measured until then.\n";
  }
}

UdpLive::UdpLive(const cli::Context& context)
    : context_(context), visible_(context.err_terminal.interactive && !context.quiet) {}

void UdpLive::show(const udp::Trial& trial, udp::TrialEnd end) const {
  if (visible_) {
    fmt::print(context_.err, "trial {:>12}  arrived {:>12}  lost {:8.4f} %  {}\n",
               math::format_rate(trial.bits_per_s), math::format_rate(trial.delivered_bits_per_s),
               trial.loss * kPercent, words_of(end));
    context_.err << std::flush;
  }
}

void UdpLive::show(const udp::Live& live, Direction direction, std::chrono::nanoseconds interval) {
  const auto whole =
      static_cast<std::int64_t>(live.elapsed_s / std::chrono::duration<double>(interval).count());
  // The server's word comes a little after the interval's end.
  const bool told =
      direction == Direction::Receive || live.peer_received.packets > last_.peer_received.packets;
  if (!visible_ || whole <= shown_ || !told) {
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
  const double seconds = elapsed_s - last_.elapsed_s;
  const double bits = static_cast<double>(now.bytes - before.bytes) * 8 / seconds;
  fmt::print(context_.err, "{} {:7.1f} s  {:>12}  lost so far {}\n", arrow, elapsed_s,
             math::format_rate(bits), now.missing);
  context_.err << std::flush;
}

}  // namespace chokepoint::probe
