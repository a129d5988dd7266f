#include "probe/udp/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/math/units.h"

namespace chokepoint::probe::udp {
namespace {

double mbps(double bytes, double duration_s) {
  return duration_s > 0 ? bytes * 8 / duration_s / 1e6 : 0;
}

StreamOutcome stream_of(const SentFlow& sent, const ReceivedFlow& received) {
  StreamOutcome stream{.sent = sent, .received = received};
  stream.offered_mbps = mbps(static_cast<double>(sent.bytes), sent.duration_s);
  // Where all packets arrived at one moment there is no rate of arrival.
  stream.throughput_mbps = received.bytes_per_s
                               ? mbps(*received.bytes_per_s, 1)
                               : mbps(static_cast<double>(received.bytes), sent.duration_s);
  return stream;
}

void merge(std::optional<Burst>& all, const std::optional<Burst>& one) {
  if (!one) {
    return;
  }
  Burst& most = all ? *all : all.emplace();
  most.batch_packets = std::max(most.batch_packets, one->batch_packets);
  most.bucket_packets = std::max(most.bucket_packets, one->bucket_packets);
  most.hurried_ns = std::max(most.hurried_ns, one->hurried_ns);
}

void add_sent(Outcome& outcome, const SentFlow& sent) {
  outcome.duration_s = std::max(outcome.duration_s, sent.duration_s);
  outcome.packets_sent += sent.packets;
  outcome.dropped_by_sender += sent.dropped_here;
  outcome.skipped += sent.skipped;
  outcome.blocked_s = std::max(outcome.blocked_s, sent.blocked_s);
  outcome.segmented |= sent.segmented;
  outcome.error = outcome.error.empty() ? sent.error : outcome.error;
  merge(outcome.burst, sent.burst);
}

void add_received(Outcome& outcome, const ReceivedFlow& received) {
  outcome.packets_received += received.counts.received;
  outcome.bytes += received.bytes;
  outcome.lost += received.lost;
  outcome.lost_in_queue += received.lost_in_queue;
  outcome.out_of_order += received.counts.out_of_order;
  outcome.duplicates += received.counts.duplicates;
}

std::optional<double> mean_jitter(const std::vector<StreamOutcome>& streams) {
  double sum = 0;
  int count = 0;
  for (const StreamOutcome& stream : streams) {
    if (stream.received.jitter_ms) {
      sum += *stream.received.jitter_ms;
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional(sum / count);
}

// The sums of the streams' intervals, each of which begins with its stream's first arrival. The
// last one ends when the sending did.
std::vector<Interval> intervals_of(const Outcome& outcome, double interval_s) {
  std::vector<Interval> intervals;
  for (const StreamOutcome& stream : outcome.streams) {
    for (std::size_t i = 0; i < stream.received.intervals.size(); ++i) {
      if (intervals.size() == i) {
        const double start = static_cast<double>(i) * interval_s;
        intervals.push_back({.start_s = start, .end_s = start + interval_s});
      }
      const FlowInterval& each = stream.received.intervals[i];
      intervals[i].packets += each.packets;
      intervals[i].bytes += each.bytes;
      intervals[i].lost += each.missing;
      intervals[i].jitter_ms = std::max(intervals[i].jitter_ms, each.jitter_ms);
    }
  }
  if (!intervals.empty() && outcome.duration_s > intervals.back().start_s) {
    intervals.back().end_s = std::min(intervals.back().end_s, outcome.duration_s);
  }
  for (Interval& each : intervals) {
    each.throughput_mbps = mbps(static_cast<double>(each.bytes), each.end_s - each.start_s);
  }
  return intervals;
}

constexpr double kMega = 1e6;
constexpr double kPercent = 100;
constexpr double kOfferedAsAsked = 0.985;

std::string rate(double mbps) { return math::format_rate(mbps * kMega); }

double share(std::uint64_t part, const Outcome& outcome) {
  return outcome.packets_sent == 0
             ? 0
             : static_cast<double>(part) / static_cast<double>(outcome.packets_sent);
}

Verdict lossy(const Outcome& outcome, const Circumstances& how) {
  const double percent = outcome.loss() * kPercent;
  if (outcome.lost_in_queue > outcome.lost / 2) {
    return {Limit::ReceiverQueue,
            fmt::format("{}'s socket queue dropped {:.2f} % of {}: that host is too slow to take "
                        "it; {} arrived",
                        how.receiver, share(outcome.lost_in_queue, outcome) * kPercent,
                        rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
  }
  if (outcome.dropped_by_sender > outcome.lost / 2) {
    return {Limit::SenderQueue,
            fmt::format("the queue of {}'s own interface dropped {:.2f} % of {}: its line is full "
                        "at {}",
                        how.sender, share(outcome.dropped_by_sender, outcome) * kPercent,
                        rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
  }
  return {Limit::Path, fmt::format("the network lost {:.2f} % of {}; {} arrived", percent,
                                   rate(outcome.offered_mbps), rate(outcome.throughput_mbps))};
}

Verdict interface_full(const Outcome& outcome, const Circumstances& how) {
  return {Limit::SenderQueue,
          fmt::format("{}'s own interface takes no more: its line is full, {} arrived", how.sender,
                      rate(outcome.throughput_mbps))};
}

Verdict short_of(const Outcome& outcome, const Circumstances& how) {
  if (outcome.interface_full()) {
    return interface_full(outcome, how);
  }
  const std::string stalled =
      outcome.skipped > 0
          ? fmt::format(", and was kept from sending {} packets in time", outcome.skipped)
          : "";
  return {
      Limit::Sender,
      fmt::format("{} sent {} where {} was asked for{}: its processors give no more", how.sender,
                  rate(outcome.offered_mbps), math::format_rate(how.asked_bits_per_s), stalled)};
}

std::string beyond(const Trial& obstacle) { return math::format_rate(obstacle.bits_per_s); }

Verdict found(const Outcome& outcome, const Circumstances& how) {
  const std::string carried = rate(outcome.throughput_mbps);
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
constexpr double kBeyondStalls = 0.2;
// The share of the offered rate that arrives in a short trial, by chance, when nothing is wrong.
constexpr double kKeepsUp = 0.985;
constexpr double kOfferedInTrial = 0.99;

TrialEnd judge_steady(const Trial& trial, double max_loss) {
  if (trial.loss > max_loss) {
    return trial.loss_in_queue > trial.loss / 2 ? TrialEnd::ReceiverQueue : TrialEnd::Loss;
  }
  if (trial.offered_bits_per_s < kOfferedInTrial * trial.bits_per_s) {
    return TrialEnd::Sender;
  }
  return trial.delivered_bits_per_s < kKeepsUp * trial.offered_bits_per_s ? TrialEnd::FillsQueue
                                                                          : TrialEnd::Passed;
}

Trial trial_of(const Outcome& outcome, double bits_per_s) {
  const double sent = std::max(static_cast<double>(outcome.packets_sent), 1.0);
  return {.bits_per_s = bits_per_s,
          .offered_bits_per_s = outcome.offered_mbps * kMega,
          .delivered_bits_per_s = outcome.throughput_mbps * kMega,
          .loss = outcome.packets_sent == 0 ? 1 : outcome.loss(),
          .loss_in_queue = static_cast<double>(outcome.lost_in_queue) / sent,
          .interface_full = outcome.interface_full(),
          .stalled = outcome.stalled() && !outcome.interface_full()};
}

}  // namespace

bool Outcome::stalled() const {
  constexpr double kFeltS = 0.002;
  const double flows = static_cast<double>(std::max<std::size_t>(streams.size(), 1));
  const double per_second = static_cast<double>(packets_sent) / std::max(duration_s, 1e-9) / flows;
  return burst && burst->bucket_packets - burst->batch_packets > std::max(kFeltS * per_second, 1.0);
}

Outcome outcome_of(const RunResult& result, const RunPlan& plan, Direction direction) {
  const bool upstream = direction == Direction::Send;
  const SideReport& sender = upstream ? result.own : result.peer;
  const SideReport& receiver = upstream ? result.peer : result.own;
  Outcome outcome{.direction = direction,
                  .packet_bytes = plan.packet_bytes,
                  .delay_ms = receiver.delay_ms,
                  .room_bytes = receiver.room_bytes};
  const std::size_t streams = std::min(sender.sent.size(), receiver.received.size());
  for (std::size_t i = 0; i < streams; ++i) {
    outcome.streams.push_back(stream_of(sender.sent[i], receiver.received[i]));
    add_sent(outcome, sender.sent[i]);
    add_received(outcome, receiver.received[i]);
    outcome.offered_mbps += outcome.streams.back().offered_mbps;
    outcome.throughput_mbps += outcome.streams.back().throughput_mbps;
  }
  outcome.jitter_ms = mean_jitter(outcome.streams);
  outcome.intervals = intervals_of(outcome, std::chrono::duration<double>(plan.interval).count());
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

std::string_view name_of(Limit limit) {
  constexpr std::array<std::string_view, 6> kNames{"nothing",      "asked",          "sender",
                                                   "sender-queue", "receiver-queue", "path"};
  return kNames.at(static_cast<std::size_t>(limit));
}

Verdict judge(const Outcome& outcome, const Circumstances& how) {
  if (!outcome.error.empty()) {
    return {Limit::Nothing, fmt::format("{} could not send: {}", how.sender, outcome.error)};
  }
  if (outcome.packets_received == 0) {
    return {Limit::Nothing, outcome.packets_sent == 0
                                ? "nothing was sent, so nothing can be said"
                                : "nothing arrived: does a firewall let large UDP packets pass?"};
  }
  if (outcome.loss() > how.max_loss) {
    return lossy(outcome, how);
  }
  if (outcome.offered_mbps * kMega < kOfferedAsAsked * how.asked_bits_per_s) {
    return short_of(outcome, how);
  }
  if (how.searched) {
    return found(outcome, how);
  }
  const std::string all = fmt::format("{} arrived, {:.4f} % of it lost",
                                      rate(outcome.throughput_mbps), outcome.loss() * kPercent);
  return how.asked_bits_per_s > 0
             ? Verdict{Limit::Asked, all + ": what was asked for, and the path may carry more"}
             : Verdict{Limit::Sender, all + fmt::format(": {} sends no faster", how.sender)};
}

TrialEnd judge(const Trial& trial, double max_loss) {
  const TrialEnd end = judge_steady(trial, max_loss);
  const bool forgiven = trial.stalled && trial.loss < kBeyondStalls;
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
