#include "probe/quic/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/math/queue.h"
#include "base/math/units.h"

namespace chokepoint::probe::quic {
namespace {

// A thread that waits for less than the rest of this has no capacity left.
constexpr double kThreadFull = 88;
// A core that handles packets in interrupts for more than this has none either.
constexpr double kSoftirqFull = 92;
constexpr double kPaceReached = 0.95;
// A sender that waited for nothing for longer than this share worked all the time.
constexpr double kLeastShare = 0.15;
// The share of packets lost below which the window of cubic or reno grows faster than it shrinks.
constexpr double kLossMatters = 2e-5;
constexpr double kGiga = 1e9;

double rate_mbps(std::uint64_t bytes, double duration_s) {
  return duration_s > 0 ? static_cast<double>(bytes) * math::kBits / duration_s / math::kMega : 0;
}

std::optional<double> per_gbps(double percent, double mbps) {
  return mbps > 0 ? std::optional(percent / (mbps * math::kMega / kGiga)) : std::nullopt;
}

const IntervalMeasure* at_time(const Half& half, double middle_s) {
  const auto at = std::ranges::find_if(half.intervals, [&](const IntervalMeasure& each) {
    return each.start_s <= middle_s && middle_s < each.end_s;
  });
  return at == half.intervals.end() ? nullptr : &*at;
}

// Bytes from the receiver, the state of the connection from the sender at the same time.
std::vector<Interval> joined(const Half& sender, const Half& receiver) {
  std::vector<Interval> intervals;
  for (const IntervalMeasure& each : receiver.intervals) {
    Interval& interval = intervals.emplace_back(
        Interval{.start_s = each.start_s,
                 .end_s = each.end_s,
                 .bytes = each.received_bytes,
                 .throughput_mbps = rate_mbps(each.received_bytes, each.end_s - each.start_s)});
    if (const auto* other = at_time(sender, (each.start_s + each.end_s) / 2)) {
      interval.retransmits = other->lost_packets;
      interval.cwnd_bytes = other->cwnd_bytes;
      interval.rtt_ms = other->rtt_ms;
    }
  }
  return intervals;
}

// Of whole intervals only: the last one may be too short for a rate.
double peak_of_whole(const Outcome& outcome, double interval_s) {
  double peak = outcome.throughput_mbps;
  for (const Interval& each : outcome.intervals) {
    peak = each.end_s - each.start_s > interval_s / 2 ? std::max(peak, each.throughput_mbps) : peak;
  }
  return peak;
}

// Of an outcome whose sender is known.
struct Facts {
  const Outcome& outcome;
  const SentMeasure& sent;
  const Parameters& parameters;
  const Names& names;
};

std::string rate_text(const Facts& facts) {
  return math::format_rate(facts.outcome.throughput_mbps * math::kMega);
}

std::optional<Verdict> pace_asked(const Outcome& outcome, const Parameters& parameters) {
  const std::optional<double>& pace = parameters.pace_bits_per_s;
  if (!pace || outcome.throughput_mbps * math::kMega < kPaceReached * *pace) {
    return std::nullopt;
  }
  return Verdict{Limit::Asked, fmt::format("nothing but the pace that was asked for, {}",
                                           math::format_rate(*pace))};
}

bool is_full(const std::optional<HostMeasure>& host) {
  return host &&
         (host->busy_percent >= kThreadFull || host->softirq_percent.value_or(0) >= kSoftirqFull);
}

double busy_percent(const std::optional<HostMeasure>& host) {
  return host ? host->busy_percent : 0;
}

std::string processor_text(const std::string& host, std::string_view what,
                           const HostMeasure& measure) {
  std::string text = fmt::format(
      "the processor of {}, which {}: the thread that has the connection was busy for {:.0f} % of "
      "the time ({:.0f} % of a core)",
      host, what, measure.busy_percent, measure.cpu_percent);
  if (measure.softirq_percent.value_or(0) >= kSoftirqFull) {
    text += fmt::format(", and the handling of packets took {:.0f} % of core {}",
                        *measure.softirq_percent, measure.softirq_core.value_or(0));
  }
  return text;
}

Verdict sender_processor(const Outcome& outcome, const Names& names) {
  return {Limit::SenderCpu, processor_text(names.sender, "sends", *outcome.sender_host)};
}

Verdict receiver_processor(const Outcome& outcome, const Names& names) {
  return {Limit::ReceiverCpu, processor_text(names.receiver, "receives", *outcome.receiver_host)};
}

std::optional<Verdict> processor(const Outcome& outcome, const Names& names) {
  const auto& sender = outcome.sender_host;
  const auto& receiver = outcome.receiver_host;
  if (is_full(receiver) && (!is_full(sender) || busy_percent(receiver) > busy_percent(sender))) {
    return receiver_processor(outcome, names);
  }
  return is_full(sender) ? std::optional(sender_processor(outcome, names)) : std::nullopt;
}

Verdict flow_window(const Facts& facts) {
  return {Limit::FlowWindow,
          fmt::format("the flow control window of {}, {} over a round trip of {}: give a "
                      "larger --window",
                      facts.names.receiver,
                      math::format_bytes(static_cast<double>(facts.parameters.window_bytes)),
                      math::format_ms(facts.sent.rtt_ms.median))};
}

Verdict send_buffer(const Facts& facts) {
  return {Limit::SendBuffer, fmt::format("the interface of {}, which took no more than {}",
                                         facts.names.sender, rate_text(facts))};
}

bool has_queue(const SentMeasure& sent) {
  return math::has_queue(sent.rtt_ms.median, sent.min_rtt_ms.value_or(0), math::kTestQueueFactor);
}

double share_of_packets(std::uint64_t some, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

Verdict network(const Facts& facts) {
  const SentMeasure& sent = facts.sent;
  // A round trip passes the queues of both directions: whose it was is not known.
  if (has_queue(sent) && facts.parameters.direction == Direction::Both) {
    return {Limit::Queue,
            fmt::format("its congestion window, {} at most, while the queues of both directions "
                        "made {} of round trip out of {}",
                        math::format_bytes(static_cast<double>(sent.max_cwnd_bytes)),
                        math::format_ms(sent.rtt_ms.median), math::format_ms(*sent.min_rtt_ms))};
  }
  if (has_queue(sent)) {
    return {Limit::Queue,
            fmt::format("the path, full at {}: its queue made {} of round trip out of "
                        "{}",
                        rate_text(facts), math::format_ms(sent.rtt_ms.median),
                        math::format_ms(*sent.min_rtt_ms))};
  }
  const double loss = share_of_packets(sent.lost_packets, sent.packets);
  const std::uint64_t marked = facts.outcome.received ? facts.outcome.received->ce_packets : 0;
  const double marks = share_of_packets(marked, sent.packets);
  if (marks >= kLossMatters && marks > loss) {
    return {Limit::Marks,
            fmt::format(
                "congestion that the path announced: it marked {} packets (ECN), {:.3f} % of "
                "what was sent, which held {}'s window at {} at most",
                marked, marks * math::kPercent, chokepoint::name_of(facts.parameters.congestion),
                math::format_bytes(static_cast<double>(sent.max_cwnd_bytes)))};
  }
  if (loss >= kLossMatters) {
    return {Limit::Loss,
            fmt::format("loss on the path: {} packets, {:.3f} % of what was sent, held {}'s "
                        "window at {} at most",
                        sent.lost_packets, loss * math::kPercent,
                        chokepoint::name_of(facts.parameters.congestion),
                        math::format_bytes(static_cast<double>(sent.max_cwnd_bytes)))};
  }
  return {
      Limit::CongestionWindow,
      fmt::format("the congestion window of {}, {} at most over a round trip of {}, "
                  "with {}",
                  chokepoint::name_of(facts.parameters.congestion),
                  math::format_bytes(static_cast<double>(sent.max_cwnd_bytes)),
                  math::format_ms(sent.rtt_ms.median), loss > 0 ? "hardly any loss" : "no loss")};
}

// By what the sender waited for most; for hardly anything: by the end that was the busier.
Verdict by_waits(const Facts& facts) {
  const Shares& shares = facts.sent.shares;
  const double network_share = shares.congestion_window + shares.pacing;
  const double most = std::max({network_share, shares.flow_window, shares.send_buffer});
  if (most < kLeastShare) {
    return busy_percent(facts.outcome.receiver_host) > busy_percent(facts.outcome.sender_host)
               ? receiver_processor(facts.outcome, facts.names)
               : sender_processor(facts.outcome, facts.names);
  }
  if (most == shares.flow_window) {
    return flow_window(facts);
  }
  return most == shares.send_buffer ? send_buffer(facts) : network(facts);
}

void count_lost(Outcome& outcome) {
  if (!outcome.sent || !outcome.received) {
    return;
  }
  const std::uint64_t sent = outcome.sent->packets;
  outcome.lost = sent - std::min(sent, outcome.received->packets);
  if (sent > 0) {
    outcome.loss_percent =
        math::kPercent * static_cast<double>(*outcome.lost) / static_cast<double>(sent);
  }
}

}  // namespace

Outcome outcome_of(const Trial& trial, Direction direction) {
  const bool sends = direction == Direction::Send;
  const Half& sender = sends ? trial.client : trial.server;
  const Half& receiver = sends ? trial.server : trial.client;
  Outcome outcome{.direction = direction, .bytes = receiver.received.bytes};
  outcome.duration_s = receiver.received.end_s - receiver.received.start_s;
  outcome.throughput_mbps = rate_mbps(outcome.bytes, outcome.duration_s);
  if (sends || !trial.is_foreign) {
    outcome.sent = sender.sent;
    outcome.sender_host = sender.host;
    outcome.sender_percent_per_gbps = per_gbps(sender.host.cpu_percent, outcome.throughput_mbps);
  }
  if (!sends || !trial.is_foreign) {
    outcome.received = receiver.received;
    outcome.receiver_host = receiver.host;
    outcome.receiver_percent_per_gbps =
        per_gbps(receiver.host.cpu_percent, outcome.throughput_mbps);
  }
  count_lost(outcome);
  outcome.intervals = joined(sender, receiver);
  outcome.peak_mbps =
      peak_of_whole(outcome, std::chrono::duration<double>(trial.parameters.interval).count());
  for (std::size_t i = 0; i < receiver.received.stream_bytes.size(); ++i) {
    const std::uint64_t bytes = receiver.received.stream_bytes[i];
    outcome.streams.push_back({.stream = static_cast<int>(i),
                               .bytes = bytes,
                               .throughput_mbps = rate_mbps(bytes, outcome.duration_s)});
  }
  return outcome;
}

std::string_view name_of(Limit limit) {
  constexpr std::array<std::string_view, 10> kNames{
      "nothing",     "asked", "sender-cpu", "receiver-cpu", "flow-window",
      "send-buffer", "loss",  "marks",      "queue",        "congestion-window"};
  return kNames.at(static_cast<std::size_t>(limit));
}

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Names& names) {
  if (outcome.bytes == 0 || outcome.duration_s <= 0) {
    return {Limit::Nothing, "nothing arrived, so nothing can be said"};
  }
  if (std::optional<Verdict> verdict = pace_asked(outcome, parameters)) {
    return std::move(*verdict);
  }
  if (std::optional<Verdict> verdict = processor(outcome, names)) {
    return std::move(*verdict);
  }
  if (!outcome.sent) {
    return {Limit::Nothing, fmt::format("what {} knows: it sends, and does not say what it waits "
                                        "for",
                                        names.sender)};
  }
  return by_waits(
      {.outcome = outcome, .sent = *outcome.sent, .parameters = parameters, .names = names});
}

}  // namespace chokepoint::probe::quic
