#include "probe/udp/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/math/units.h"

namespace chokepoint::probe::udp {
namespace {

documents::UdpStream stream_of(const SentFlow& sent, const ReceivedFlow& received) {
  return {// Where all packets arrived at one moment there is no rate of arrival.
          .throughput_mbps = received.bytes_per_s
                                 ? math::mbps(*received.bytes_per_s, 1)
                                 : math::mbps(static_cast<double>(received.bytes), sent.duration_s),
          .offered_mbps = math::mbps(static_cast<double>(sent.bytes), sent.duration_s),
          .packets_sent = sent.packets,
          .packets_received = received.counts.received,
          .lost = received.lost,
          .lost_in_receiver_queue = received.lost_in_queue,
          .out_of_order = received.counts.out_of_order,
          .duplicates = received.counts.duplicates,
          .beyond_window = received.counts.ancient,
          .ignored = received.ignored,
          .jitter_ms = received.jitter_ms};
}

void merge(std::optional<documents::UdpBurst>& all, const Burst& one, std::size_t packet_bytes) {
  documents::UdpBurst& most = all ? *all : all.emplace();
  most.batch_packets = std::max(most.batch_packets, one.batch_packets);
  most.batch_bytes = most.batch_packets * packet_bytes;
  most.bucket_packets = std::max(most.bucket_packets, one.bucket_packets);
  most.bucket_bytes = most.bucket_packets * static_cast<double>(packet_bytes);
  most.hurried_ms = std::max(most.hurried_ms, static_cast<double>(one.hurried_ns) / math::kNsPerMs);
}

void add_sent(Outcome& outcome, const SentFlow& sent, std::size_t packet_bytes) {
  documents::UdpFigures& figures = outcome.figures;
  figures.duration_s = std::max(figures.duration_s, sent.duration_s);
  figures.packets_sent += sent.packets;
  *figures.dropped_by_sender_queue += sent.dropped_here;
  *figures.skipped_by_sender += sent.skipped;
  figures.sender_blocked_s = std::max(*figures.sender_blocked_s, sent.blocked_s);
  figures.segmentation_offload = *figures.segmentation_offload || sent.segmented;
  outcome.error = outcome.error.empty() ? sent.error : outcome.error;
  if (sent.burst) {
    merge(figures.burst, *sent.burst, packet_bytes);
    figures.pacing = documents::UdpPacing::Program;
  }
}

void add_received(documents::UdpFigures& figures, const ReceivedFlow& received) {
  figures.packets_received += received.counts.received;
  figures.bytes += received.bytes;
  figures.lost += received.lost;
  *figures.lost_in_receiver_queue += received.lost_in_queue;
  *figures.out_of_order += received.counts.out_of_order;
  *figures.duplicates += received.counts.duplicates;
}

std::optional<double> mean_jitter(const std::vector<documents::UdpStream>& streams) {
  double sum = 0;
  int count = 0;
  for (const documents::UdpStream& stream : streams) {
    if (stream.jitter_ms) {
      sum += *stream.jitter_ms;
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

// The sums of the streams' intervals, each of which begins with its stream's first arrival. The
// last one ends when the sending did.
std::vector<Interval> intervals_of(std::span<const ReceivedFlow> streams, double interval_s,
                                   double duration_s) {
  std::vector<Interval> intervals;
  for (const ReceivedFlow& stream : streams) {
    for (std::size_t i = 0; i < stream.intervals.size(); ++i) {
      if (intervals.size() == i) {
        const double start = static_cast<double>(i) * interval_s;
        intervals.push_back({.start_s = start, .end_s = start + interval_s});
      }
      const FlowInterval& each = stream.intervals[i];
      intervals[i].packets_received += each.packets;
      intervals[i].bytes += each.bytes;
      intervals[i].lost += each.missing;
      intervals[i].jitter_ms = std::max(intervals[i].jitter_ms, each.jitter_ms);
    }
  }
  if (!intervals.empty() && duration_s > intervals.back().start_s) {
    intervals.back().end_s = std::min(intervals.back().end_s, duration_s);
  }
  for (Interval& each : intervals) {
    each.throughput_mbps = math::mbps(static_cast<double>(each.bytes), each.end_s - each.start_s);
  }
  return intervals;
}

constexpr double kMega = 1e6;
constexpr double kPercent = 100;
constexpr double kOfferedAsAsked = 0.985;

std::string rate(double mbps) { return math::format_rate(mbps * kMega); }

double percent_of(std::uint64_t part, std::uint64_t packets) {
  return packets == 0 ? 0 : static_cast<double>(part) / static_cast<double>(packets) * kPercent;
}

Verdict lossy(const Outcome& outcome, const RunFacts& how) {
  const documents::UdpFigures& figures = outcome.figures;
  const std::uint64_t in_receiver = figures.lost_in_receiver_queue.value_or(0);
  const std::uint64_t in_sender = figures.dropped_by_sender_queue.value_or(0);
  if (in_receiver > figures.lost / 2) {
    return {Limit::ReceiverQueue,
            fmt::format("{}'s socket queue dropped {:.2f} % of {}: that host is too slow to take "
                        "it; {} arrived",
                        how.receiver, percent_of(in_receiver, figures.packets_sent),
                        rate(figures.offered_mbps), rate(figures.throughput_mbps))};
  }
  if (in_sender > figures.lost / 2) {
    return {Limit::SenderQueue,
            fmt::format("the queue of {}'s own interface dropped {:.2f} % of {}: its line is full "
                        "at {}",
                        how.sender, percent_of(in_sender, figures.packets_sent),
                        rate(figures.offered_mbps), rate(figures.throughput_mbps))};
  }
  return {Limit::Path,
          fmt::format("the network lost {:.2f} % of {}; {} arrived", outcome.loss() * kPercent,
                      rate(figures.offered_mbps), rate(figures.throughput_mbps))};
}

Verdict interface_full(const Outcome& outcome, const RunFacts& how) {
  return {Limit::SenderQueue,
          fmt::format("{}'s own interface takes no more: its line is full, {} arrived", how.sender,
                      rate(outcome.figures.throughput_mbps))};
}

Verdict short_of(const Outcome& outcome, const RunFacts& how) {
  if (outcome.interface_full()) {
    return interface_full(outcome, how);
  }
  const std::uint64_t skipped = outcome.figures.skipped_by_sender.value_or(0);
  const std::string stalled =
      skipped > 0 ? fmt::format(", and was kept from sending {} packets in time", skipped) : "";
  return {Limit::Sender,
          fmt::format("{} sent {} where {} was asked for{}: its processors give no more",
                      how.sender, rate(outcome.figures.offered_mbps),
                      math::format_rate(how.asked_bits_per_s), stalled)};
}

std::string beyond(const Trial& obstacle) { return math::format_rate(obstacle.bits_per_s); }

Verdict found(const Outcome& outcome, const RunFacts& how) {
  const std::string carried = rate(outcome.figures.throughput_mbps);
  if (!how.obstacle) {
    return {Limit::Asked, fmt::format("{} arrived whole, as fast as the server grants", carried)};
  }
  const Trial& trial = *how.obstacle;
  switch (judge(trial, how.max_loss)) {
    case TrialEnd::ReceiverQueue:
      return {Limit::ReceiverQueue,
              fmt::format("{} arrived whole; at {} {}'s socket queue dropped {:.2f} %: that host "
                          "is too slow to take more",
                          carried, beyond(trial), how.receiver, trial.loss_in_queue * kPercent)};
    case TrialEnd::Sender:
    case TrialEnd::Stalled:
      if (trial.interface_full) {
        return interface_full(outcome, how);
      }
      return {Limit::Sender,
              fmt::format("{} arrived whole; of {} {} got only {} out: its processors give no "
                          "more",
                          carried, beyond(trial), how.sender,
                          math::format_rate(trial.offered_bits_per_s))};
    case TrialEnd::FillsQueue:
      return {
          Limit::Path,
          fmt::format("{} arrived whole; of {} only {} came through in time, and a queue filled "
                      "up: the line is full",
                      carried, beyond(trial), math::format_rate(trial.delivered_bits_per_s))};
    case TrialEnd::Loss:
    case TrialEnd::Passed:
      break;
  }
  return {Limit::Path, fmt::format("{} arrived whole; loss starts at {}, where the network lost "
                                   "{:.2f} %: the line is full",
                                   carried, beyond(trial), trial.loss * kPercent)};
}

// More loss than any stall of the sender causes.
constexpr double kMaxLossOfStall = 0.2;
// The least shares that a trial passes with: of the offered rate that arrived, and of the rate of
// the trial that was offered. In a short trial they miss 1 by chance when nothing is wrong.
constexpr double kMinDeliveredShare = 0.985;
constexpr double kMinOfferedShare = 0.99;

TrialEnd judge_steady(const Trial& trial, double max_loss) {
  if (trial.loss > max_loss) {
    return trial.loss_in_queue > trial.loss / 2 ? TrialEnd::ReceiverQueue : TrialEnd::Loss;
  }
  if (trial.offered_bits_per_s < kMinOfferedShare * trial.bits_per_s) {
    return TrialEnd::Sender;
  }
  return trial.delivered_bits_per_s < kMinDeliveredShare * trial.offered_bits_per_s
             ? TrialEnd::FillsQueue
             : TrialEnd::Passed;
}

Trial trial_of(const Outcome& outcome, double bits_per_s) {
  const double sent = std::max(static_cast<double>(outcome.figures.packets_sent), 1.0);
  return {.bits_per_s = bits_per_s,
          .offered_bits_per_s = outcome.figures.offered_mbps * kMega,
          .delivered_bits_per_s = outcome.figures.throughput_mbps * kMega,
          .loss = outcome.figures.packets_sent == 0 ? 1 : outcome.loss(),
          .loss_in_queue =
              static_cast<double>(outcome.figures.lost_in_receiver_queue.value_or(0)) / sent,
          .interface_full = outcome.interface_full(),
          .stalled = outcome.stalled() && !outcome.interface_full()};
}

}  // namespace

bool Outcome::stalled() const {
  constexpr double kMaxStallS = 0.002;  // longer stalls fill queues
  const double flows = static_cast<double>(std::max<std::size_t>(figures.per_stream.size(), 1));
  const double per_second =
      static_cast<double>(figures.packets_sent) / std::max(figures.duration_s, 1e-9) / flows;
  const auto& burst = figures.burst;
  return burst &&
         burst->bucket_packets - burst->batch_packets > std::max(kMaxStallS * per_second, 1.0);
}

Outcome outcome_of(const RunResult& result, const RunPlan& plan, Direction direction) {
  const bool upstream = direction == Direction::Send;
  const SideReport& sender = upstream ? result.own : result.peer;
  const SideReport& receiver = upstream ? result.peer : result.own;
  Outcome outcome{.direction = direction,
                  .figures = {.lost_in_receiver_queue = 0,
                              .dropped_by_sender_queue = 0,
                              .skipped_by_sender = 0,
                              .sender_blocked_s = 0,
                              .out_of_order = 0,
                              .duplicates = 0,
                              .one_way_delay_ms = documents::if_measured(receiver.delay_ms),
                              .segmentation_offload = false}};
  documents::UdpFigures& figures = outcome.figures;
  const std::size_t streams = std::min(sender.sent.size(), receiver.received.size());
  for (std::size_t i = 0; i < streams; ++i) {
    add_sent(outcome, sender.sent[i], plan.packet_bytes);
    add_received(figures, receiver.received[i]);
    const documents::UdpStream& stream =
        figures.per_stream.emplace_back(stream_of(sender.sent[i], receiver.received[i]));
    figures.offered_mbps += stream.offered_mbps;
    figures.throughput_mbps += stream.throughput_mbps;
  }
  if (figures.packets_sent > 0) {
    figures.loss_percent = percent_of(figures.lost, figures.packets_sent);
  }
  if (receiver.room_bytes > 0) {
    figures.receive_buffer_bytes = receiver.room_bytes;
  }
  figures.jitter_ms = mean_jitter(figures.per_stream);
  figures.intervals =
      intervals_of(std::span(receiver.received).first(streams),
                   std::chrono::duration<double>(plan.interval).count(), figures.duration_s);
  return outcome;
}

std::vector<Outcome> outcomes_of(const RunResult& result, const RunPlan& plan,
                                 Direction direction) {
  if (direction == Direction::Both) {
    return {outcome_of(result, plan, Direction::Send),
            outcome_of(result, plan, Direction::Receive)};
  }
  return {outcome_of(result, plan, direction)};
}

Verdict judge(const Outcome& outcome, const RunFacts& how) {
  if (!outcome.error.empty()) {
    return {Limit::Nothing, fmt::format("{} could not send: {}", how.sender, outcome.error)};
  }
  if (outcome.figures.packets_received == 0) {
    return {Limit::Nothing, outcome.figures.packets_sent == 0
                                ? "nothing was sent, so nothing can be said"
                                : "nothing arrived: does a firewall let large UDP packets pass?"};
  }
  if (outcome.loss() > how.max_loss) {
    return lossy(outcome, how);
  }
  if (outcome.figures.offered_mbps * kMega < kOfferedAsAsked * how.asked_bits_per_s) {
    return short_of(outcome, how);
  }
  if (how.searched) {
    return found(outcome, how);
  }
  const std::string all =
      fmt::format("{} arrived, {:.4f} % of it lost", rate(outcome.figures.throughput_mbps),
                  outcome.loss() * kPercent);
  return how.asked_bits_per_s > 0
             ? Verdict{Limit::Asked, all + ": what was asked for, and the path may carry more"}
             : Verdict{Limit::Sender, all + fmt::format(": {} sends no faster", how.sender)};
}

TrialEnd judge(const Trial& trial, double max_loss) {
  const TrialEnd end = judge_steady(trial, max_loss);
  const bool forgiven = trial.stalled && trial.loss < kMaxLossOfStall;
  return forgiven && end != TrialEnd::Passed ? TrialEnd::Stalled : end;
}

Trial trial_of(const std::vector<Outcome>& outcomes, double bits_per_s) {
  Trial worst = trial_of(outcomes.front(), bits_per_s);
  for (const Outcome& outcome : outcomes) {
    const Trial trial = trial_of(outcome, bits_per_s);
    if (trial.delivered_bits_per_s < worst.delivered_bits_per_s) {
      worst = trial;
    }
  }
  return worst;
}

}  // namespace chokepoint::probe::udp
