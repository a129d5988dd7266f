#include "probe/quic/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/host/cpu.h"
#include "base/math/queue.h"
#include "base/math/tcp_rate.h"
#include "base/math/units.h"

namespace chokepoint::probe::quic {
namespace {

constexpr double kPaceReached = 0.95;
// A sender that waited for nothing for longer than this share worked all the time.
constexpr double kMinLimitShare = 0.15;
constexpr double kGiga = 1e9;

double rate_mbps(std::uint64_t bytes, double duration_s) {
  return math::mbps(static_cast<double>(bytes), duration_s);
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
double peak_of_whole(const documents::QuicFigures& figures, double interval_s) {
  double peak = figures.throughput_mbps;
  for (const Interval& each : figures.intervals) {
    peak = each.end_s - each.start_s > interval_s / 2 ? std::max(peak, each.throughput_mbps) : peak;
  }
  return peak;
}

// A host's name in the sentence; nothing is known of one that runs another program.
struct Host {
  const std::string& name;
  std::string_view does;
  std::optional<double> percent = {};
  std::optional<double> busy_percent = {};
  std::optional<double> softirq_percent = {};
  std::optional<int> softirq_core = {};

  bool is_full() const {
    return busy_percent.value_or(0) >= host::kFullThreadPercent ||
           softirq_percent.value_or(0) >= host::kFullCorePercent;
  }
};

struct Facts {
  const documents::QuicFigures& figures;
  const Parameters& parameters;
  Host sender;
  Host receiver;
  math::Distribution rtt_ms = {};
};

std::string rate_text(const Facts& facts) {
  return math::format_rate(facts.figures.throughput_mbps * math::kMega);
}

std::string window_text(const Facts& facts) {
  return math::format_bytes(static_cast<double>(facts.figures.max_cwnd_bytes.value_or(0)));
}

std::optional<Verdict> pace_asked(const Facts& facts) {
  const std::optional<double>& pace = facts.parameters.pace_bits_per_s;
  if (!pace || facts.figures.throughput_mbps * math::kMega < kPaceReached * *pace) {
    return std::nullopt;
  }
  return Verdict{Limit::Asked, fmt::format("nothing but the pace that was asked for, {}",
                                           math::format_rate(*pace))};
}

std::string processor_text(const Host& host) {
  std::string text = fmt::format(
      "the processor of {}, which {}: the thread that has the connection was busy for {:.0f} % of "
      "the time ({:.0f} % of a core)",
      host.name, host.does, host.busy_percent.value_or(0), host.percent.value_or(0));
  if (host.softirq_percent.value_or(0) >= host::kFullCorePercent) {
    text += fmt::format(", and the handling of packets took {:.0f} % of core {}",
                        *host.softirq_percent, host.softirq_core.value_or(0));
  }
  return text;
}

Verdict sender_processor(const Facts& facts) {
  return {Limit::SenderCpu, processor_text(facts.sender)};
}

Verdict receiver_processor(const Facts& facts) {
  return {Limit::ReceiverCpu, processor_text(facts.receiver)};
}

std::optional<Verdict> processor(const Facts& facts) {
  const bool is_busier =
      facts.receiver.busy_percent.value_or(0) > facts.sender.busy_percent.value_or(0);
  if (facts.receiver.is_full() && (!facts.sender.is_full() || is_busier)) {
    return receiver_processor(facts);
  }
  return facts.sender.is_full() ? std::optional(sender_processor(facts)) : std::nullopt;
}

Verdict flow_window(const Facts& facts) {
  return {Limit::FlowWindow,
          fmt::format("the flow control window of {}, {} over a round trip of {}: give a "
                      "larger --window",
                      facts.receiver.name,
                      math::format_bytes(static_cast<double>(facts.parameters.window_bytes)),
                      math::format_ms(facts.rtt_ms.median))};
}

Verdict send_buffer(const Facts& facts) {
  return {Limit::SendBuffer, fmt::format("the interface of {}, which took no more than {}",
                                         facts.sender.name, rate_text(facts))};
}

bool has_queue(const Facts& facts) {
  return math::has_queue(facts.rtt_ms.median, facts.figures.min_rtt_ms.value_or(0),
                         math::kTestQueueFactor);
}

double share_of_packets(std::uint64_t some, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(some) / static_cast<double>(all);
}

Verdict network(const Facts& facts) {
  const documents::QuicFigures& figures = facts.figures;
  // A round trip passes the queues of both directions: whose it was is not known.
  if (has_queue(facts) && facts.parameters.direction == Direction::Both) {
    return {Limit::Queue,
            fmt::format("its congestion window, {} at most, while the queues of both directions "
                        "made {} of round trip out of {}",
                        window_text(facts), math::format_ms(facts.rtt_ms.median),
                        math::format_ms(*figures.min_rtt_ms))};
  }
  if (has_queue(facts)) {
    return {Limit::Queue,
            fmt::format("the path, full at {}: its queue made {} of round trip out of "
                        "{}",
                        rate_text(facts), math::format_ms(facts.rtt_ms.median),
                        math::format_ms(*figures.min_rtt_ms))};
  }
  const std::uint64_t lost = figures.retransmits.value_or(0);
  const std::uint64_t marked = figures.ecn.received_ce.value_or(0);
  const double loss = share_of_packets(lost, figures.packets_sent.value_or(0));
  const double marks = share_of_packets(marked, figures.packets_sent.value_or(0));
  if (marks >= math::kMinHarmfulLoss && marks > loss) {
    return {
        Limit::Marks,
        fmt::format("congestion that the path announced: it marked {} packets (ECN), {:.3f} % of "
                    "what was sent, which held {}'s window at {} at most",
                    marked, marks * math::kPercent,
                    chokepoint::name_of(facts.parameters.congestion), window_text(facts))};
  }
  if (loss >= math::kMinHarmfulLoss) {
    return {Limit::Loss,
            fmt::format("loss on the path: {} packets, {:.3f} % of what was sent, held {}'s "
                        "window at {} at most",
                        lost, loss * math::kPercent,
                        chokepoint::name_of(facts.parameters.congestion), window_text(facts))};
  }
  return {
      Limit::CongestionWindow,
      fmt::format("the congestion window of {}, {} at most over a round trip of {}, "
                  "with {}",
                  chokepoint::name_of(facts.parameters.congestion), window_text(facts),
                  math::format_ms(facts.rtt_ms.median), loss > 0 ? "hardly any loss" : "no loss")};
}

// By what the sender waited for most; for hardly anything: by the end that was the busier.
Verdict by_waits(const Facts& facts) {
  const Shares& shares = *facts.figures.limited_by;
  const double network_share = shares.congestion_window + shares.pacing;
  const double most = std::max({network_share, shares.flow_window, shares.send_buffer});
  if (most < kMinLimitShare) {
    return facts.receiver.busy_percent.value_or(0) > facts.sender.busy_percent.value_or(0)
               ? receiver_processor(facts)
               : sender_processor(facts);
  }
  if (most == shares.flow_window) {
    return flow_window(facts);
  }
  return most == shares.send_buffer ? send_buffer(facts) : network(facts);
}

std::optional<double> mean(std::uint64_t packets, std::uint64_t calls) {
  return calls > 0 ? std::optional(static_cast<double>(packets) / static_cast<double>(calls))
                   : std::nullopt;
}

void add_sender(Outcome& outcome, const Half& sender) {
  documents::QuicFigures& figures = outcome.figures;
  const SentMeasure& sent = sender.sent;
  figures.sent_bytes = sent.bytes;
  figures.packets_sent = sent.packets;
  figures.retransmits = sent.lost_packets;
  figures.refused = sent.refused_packets;
  figures.packet_bytes = sent.packet_bytes;
  figures.max_cwnd_bytes = sent.max_cwnd_bytes;
  figures.rtt_ms = documents::if_measured(sent.rtt_ms);
  figures.min_rtt_ms = sent.min_rtt_ms;
  figures.ecn.sent_ect0 = sent.ect0_packets;
  figures.segmentation_offload = sent.segmentation;
  figures.packets_per_send_call = mean(sent.packets, sent.calls);
  figures.limited_by = sent.shares;
  figures.cpu.sender_percent = sender.host.cpu_percent;
  figures.cpu.sender_busy_percent = sender.host.busy_percent;
  figures.cpu.sender_percent_per_gbps = per_gbps(sender.host.cpu_percent, figures.throughput_mbps);
  figures.cpu.sender_softirq_percent = sender.host.softirq_percent;
  outcome.sender_softirq_core = sender.host.softirq_core;
}

void add_receiver(Outcome& outcome, const Half& receiver) {
  documents::QuicFigures& figures = outcome.figures;
  const ReceivedMeasure& received = receiver.received;
  figures.packets_received = received.packets;
  figures.ecn.received_ect0 = received.ect0_packets;
  figures.ecn.received_ce = received.ce_packets;
  figures.packets_per_receive_call = mean(received.packets, received.calls);
  figures.cpu.receiver_percent = receiver.host.cpu_percent;
  figures.cpu.receiver_busy_percent = receiver.host.busy_percent;
  figures.cpu.receiver_percent_per_gbps =
      per_gbps(receiver.host.cpu_percent, figures.throughput_mbps);
  figures.cpu.receiver_softirq_percent = receiver.host.softirq_percent;
  outcome.receiver_softirq_core = receiver.host.softirq_core;
}

void count_lost(documents::QuicFigures& figures) {
  if (!figures.packets_sent || !figures.packets_received) {
    return;
  }
  const std::uint64_t sent = *figures.packets_sent;
  figures.lost = sent - std::min(sent, *figures.packets_received);
  if (sent > 0) {
    figures.loss_percent = math::kPercent * share_of_packets(*figures.lost, sent);
  }
}

}  // namespace

Outcome outcome_of(const Trial& trial, Direction direction) {
  const bool sends = direction == Direction::Send;
  const Half& sender = sends ? trial.client : trial.server;
  const Half& receiver = sends ? trial.server : trial.client;
  Outcome outcome{.direction = direction};
  documents::QuicFigures& figures = outcome.figures;
  figures.bytes = receiver.received.bytes;
  figures.duration_s = receiver.received.end_s - receiver.received.start_s;
  figures.throughput_mbps = rate_mbps(figures.bytes, figures.duration_s);
  if (sends || !trial.is_foreign) {
    add_sender(outcome, sender);
  }
  if (!sends || !trial.is_foreign) {
    add_receiver(outcome, receiver);
  }
  count_lost(figures);
  figures.intervals = joined(sender, receiver);
  figures.peak_mbps =
      peak_of_whole(figures, std::chrono::duration<double>(trial.parameters.interval).count());
  for (std::size_t i = 0; i < receiver.received.stream_bytes.size(); ++i) {
    const std::uint64_t bytes = receiver.received.stream_bytes[i];
    figures.per_stream.push_back({.stream = static_cast<int>(i),
                                  .bytes = bytes,
                                  .throughput_mbps = rate_mbps(bytes, figures.duration_s)});
  }
  return outcome;
}

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Names& names) {
  const documents::QuicFigures& figures = outcome.figures;
  if (figures.bytes == 0 || figures.duration_s <= 0) {
    return {Limit::Nothing, "nothing arrived, so nothing can be said"};
  }
  const documents::QuicCpu& cpu = figures.cpu;
  const Facts facts{.figures = figures,
                    .parameters = parameters,
                    .sender = {.name = names.sender,
                               .does = "sends",
                               .percent = cpu.sender_percent,
                               .busy_percent = cpu.sender_busy_percent,
                               .softirq_percent = cpu.sender_softirq_percent,
                               .softirq_core = outcome.sender_softirq_core},
                    .receiver = {.name = names.receiver,
                                 .does = "receives",
                                 .percent = cpu.receiver_percent,
                                 .busy_percent = cpu.receiver_busy_percent,
                                 .softirq_percent = cpu.receiver_softirq_percent,
                                 .softirq_core = outcome.receiver_softirq_core},
                    .rtt_ms = figures.rtt_ms.value_or(math::Distribution{})};
  if (std::optional<Verdict> verdict = pace_asked(facts)) {
    return std::move(*verdict);
  }
  if (std::optional<Verdict> verdict = processor(facts)) {
    return std::move(*verdict);
  }
  if (!figures.limited_by) {
    return {Limit::Nothing, fmt::format("what {} knows: it sends, and does not say what it waits "
                                        "for",
                                        names.sender)};
  }
  return by_waits(facts);
}

}  // namespace chokepoint::probe::quic
