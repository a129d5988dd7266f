#include "probe/udp/outcome.h"

#include <algorithm>

namespace chokepoint::probe::udp {
namespace {

double mbps(double bytes, double duration_s) {
  return duration_s > 0 ? bytes * 8 / duration_s / 1e6 : 0;
}

StreamOutcome stream_of(const SentFlow& sent, const ReceivedFlow& received) {
  StreamOutcome stream{.sent = sent, .received = received};
  stream.offered_mbps = mbps(static_cast<double>(sent.bytes), sent.duration_s);
  // Arrivals at one moment only have no rate of their own.
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

// The streams' intervals side by side: each begins with its stream's first arrival. The last one
// ends where the sending did.
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

}  // namespace chokepoint::probe::udp
