#include "probe/tcp/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/math/queue.h"
#include "base/math/units.h"

namespace chokepoint::probe::tcp {
namespace {

// A thread or core that is busy for more than this percentage has no capacity left.
constexpr double kCpuFull = 92;
constexpr double kPaceReached = 0.96;
constexpr double kMainShare = 0.4;
// The share of segments retransmitted below which the window of cubic or Reno grows faster than it
// shrinks.
constexpr double kLossMatters = 2e-5;
// From this round trip on a path counts as wide-area.
constexpr double kWideAreaRttMs = 2;
// Still growing at the end: the last whole interval carried this many times the one before it.
constexpr double kStillGrowing = 1.25;

double mbps(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e6 : 0;
}

const StreamMeasure* find(const Half& half, Role role, int index) {
  const auto at = std::ranges::find_if(half.streams, [&](const StreamMeasure& each) {
    return each.role == role && each.index == index;
  });
  return at == half.streams.end() ? nullptr : &*at;
}

template <class T>
void add(std::optional<T>& sum, const std::optional<T>& value) {
  if (value) {
    sum = sum.value_or(T{}) + *value;
  }
}

// The streams' distributions as one: min, max, mean and count are exact, the median is a mean
// weighted by count, the 99th percentile the largest.
class Merged {
 public:
  void add(const math::Distribution& one) {
    if (one.count == 0) {
      return;
    }
    const auto weight = static_cast<double>(one.count);
    const auto before = static_cast<double>(sum_.count);
    const auto mixed = [&](double old, double more) {
      return (old * before + more * weight) / (before + weight);
    };
    sum_.min = sum_.count == 0 ? one.min : std::min(sum_.min, one.min);
    sum_.max = std::max(sum_.max, one.max);
    sum_.p99 = std::max(sum_.p99, one.p99);
    sum_.median = mixed(sum_.median, one.median);
    sum_.mean = mixed(sum_.mean, one.mean);
    sum_.count += one.count;
  }
  const math::Distribution& sum() const { return sum_; }

 private:
  math::Distribution sum_;
};

// From the first arrival of any stream to the last. Where everything arrived at once, the time
// since the test began: the test was too short for the receiver's two timestamps.
double duration_of(const std::vector<StreamOutcome>& streams) {
  constexpr double kTooShort = 1e-4;
  double start_s = streams.empty() ? 0 : streams.front().receiver.start_s;
  double end_s = 0;
  for (const StreamOutcome& stream : streams) {
    start_s = std::min(start_s, stream.receiver.start_s);
    end_s = std::max(end_s, stream.receiver.end_s);
  }
  return end_s - start_s > kTooShort ? end_s - start_s : end_s;
}

std::optional<Shares> shares_of(const std::vector<StreamOutcome>& streams) {
  double wall = 0;
  double busy = 0;
  double starved = 0;
  Shares time;
  for (const StreamOutcome& stream : streams) {
    const auto& chrono = stream.sender.chrono;
    if (!chrono || stream.sender.chrono_us <= 0) {
      return std::nullopt;
    }
    // The kernel counts jiffies, so its time may be slightly more than ours.
    wall += static_cast<double>(std::max(stream.sender.chrono_us, chrono->busy_us));
    busy += static_cast<double>(chrono->busy_us);
    time.receive_window += static_cast<double>(chrono->receive_window_us);
    time.send_buffer += static_cast<double>(chrono->send_buffer_us);
    starved += static_cast<double>(chrono->busy_us) * stream.sender.starved_share;
  }
  if (wall <= 0) {
    return std::nullopt;
  }
  // With a send buffer that is too small the kernel attributes most of the time to the network
  // (seen on 6.18): it counts the buffer only from the moment in which the last byte leaves.
  time.send_buffer = std::max(time.send_buffer, starved - time.receive_window);
  const double network = std::max(busy - time.receive_window - time.send_buffer, 0.0);
  return Shares{.application = (wall - busy) / wall,
                .receive_window = time.receive_window / wall,
                .send_buffer = time.send_buffer / wall,
                .network = network / wall};
}

const IntervalMeasure* overlapping(const Half& half, Role role, double middle_s) {
  const auto at = std::ranges::find_if(half.intervals, [&](const IntervalMeasure& each) {
    return each.role == role && each.start_s <= middle_s && middle_s < each.end_s;
  });
  return at == half.intervals.end() ? nullptr : &*at;
}

// Bytes from the receiver, the state of the connection from the sender at the same time.
std::vector<Interval> intervals_of(const Half& sender, const Half& receiver, double omit_s) {
  std::vector<Interval> intervals;
  for (const IntervalMeasure& each : receiver.intervals) {
    if (each.role != Role::Receive || each.end_s <= omit_s) {
      continue;
    }
    Interval interval{.start_s = each.start_s,
                      .end_s = each.end_s,
                      .bytes = each.bytes,
                      .throughput_mbps = mbps(each.bytes, each.end_s - each.start_s)};
    if (const auto* other = overlapping(sender, Role::Send, (each.start_s + each.end_s) / 2)) {
      interval.retransmits = other->retransmits;
      interval.cwnd_bytes = other->cwnd_bytes;
      interval.rtt_ms = other->rtt_ms;
    }
    intervals.push_back(interval);
  }
  return intervals;
}

// Of whole intervals only: the last one may be too short for a rate.
double peak_of(const std::vector<Interval>& intervals, double interval_s, double average) {
  double peak = 0;
  for (const Interval& each : intervals) {
    if (each.end_s - each.start_s > interval_s / 2) {
      peak = std::max(peak, each.throughput_mbps);
    }
  }
  return std::max(peak, average);
}

void add_streams(Outcome& outcome, const Half& sender, const Half& receiver) {
  for (const StreamMeasure& received : receiver.streams) {
    const StreamMeasure* sent = find(sender, Role::Send, received.index);
    if (received.role == Role::Receive && sent != nullptr) {
      outcome.streams.push_back(
          {.sender = *sent,
           .receiver = received,
           .throughput_mbps = mbps(received.bytes, received.end_s - received.start_s)});
    }
  }
}

void add_up(Outcome& outcome) {
  Merged sender_rtt;
  Merged receiver_rtt;
  for (const StreamOutcome& stream : outcome.streams) {
    outcome.bytes += stream.receiver.bytes;
    outcome.sent_bytes += stream.sender.total_bytes;
    outcome.received_bytes += stream.receiver.total_bytes;
    add(outcome.retransmits, stream.sender.retransmits);
    add(outcome.max_cwnd_bytes, stream.sender.max_cwnd_bytes);
    outcome.max_send_window_bytes =
        std::max(outcome.max_send_window_bytes, stream.sender.send_window_bytes);
    sender_rtt.add(stream.sender.rtt_ms);
    receiver_rtt.add(stream.receiver.rtt_ms);
    const auto& least = stream.sender.min_rtt_ms;
    if (least && (!outcome.min_rtt_ms || *least < *outcome.min_rtt_ms)) {
      outcome.min_rtt_ms = least;
    }
  }
  outcome.rtt_ms = sender_rtt.sum();
  outcome.receiver_rtt_ms = receiver_rtt.sum();
}

struct Facts {
  const Outcome& outcome;
  const Parameters& parameters;
  const Ends& ends;
  double rate_bits_per_s = 0;
  double loss = 0;
  double sender_thread = 0;
  double receiver_thread = 0;
};

double busiest_thread(const Outcome& outcome, StreamMeasure StreamOutcome::* side) {
  double most = 0;
  for (const StreamOutcome& stream : outcome.streams) {
    most = std::max(most, (stream.*side).cpu_percent);
  }
  return most;
}

double loss_of(const Outcome& outcome) {
  const double mss = static_cast<double>(outcome.mss_bytes.value_or(0));
  if (!outcome.retransmits || mss <= 0 || outcome.bytes == 0) {
    return 0;
  }
  return static_cast<double>(*outcome.retransmits) / (static_cast<double>(outcome.bytes) / mss);
}

std::string rate(const Facts& facts) { return math::format_rate(facts.rate_bits_per_s); }

// In percent. A stream's thread and the handling of its packets mostly share a core, so their sum
// says how much of the core is left.
double cpu_use(const HostMeasure& host, double thread) {
  return std::min(thread + host.softirq_percent.value_or(0),
                  std::max({host.busiest_core_percent.value_or(100), thread,
                            host.softirq_percent.value_or(0)}));
}

std::string cpu_sentence(const std::string& host, const HostMeasure& measure, double thread,
                         std::string_view what) {
  return fmt::format(
      "the CPU of {}, which {}: a stream's thread used {:.0f} % of a core and the "
      "handling of packets {:.0f} % of core {}",
      host, what, thread, measure.softirq_percent.value_or(0), measure.softirq_core.value_or(0));
}

std::optional<Verdict> asked(const Facts& facts) {
  const std::optional<double>& pace = facts.parameters.pace_bits_per_s;
  if (!pace || facts.rate_bits_per_s < kPaceReached * *pace) {
    return std::nullopt;
  }
  return Verdict{Limit::Asked, fmt::format("nothing but the pace that was asked for, {}",
                                           math::format_rate(*pace))};
}

std::optional<Verdict> cpu(const Facts& facts) {
  const Outcome& outcome = facts.outcome;
  const double sender = cpu_use(outcome.sender_host, facts.sender_thread);
  const double receiver = cpu_use(outcome.receiver_host, facts.receiver_thread);
  if (std::max(sender, receiver) < kCpuFull) {
    return std::nullopt;
  }
  if (receiver > sender) {
    return Verdict{Limit::ReceiverCpu, cpu_sentence(facts.ends.receiver, outcome.receiver_host,
                                                    facts.receiver_thread, "receives")};
  }
  return Verdict{Limit::SenderCpu, cpu_sentence(facts.ends.sender, outcome.sender_host,
                                                facts.sender_thread, "sends")};
}

std::string window_advice(const Facts& facts, std::string_view sysctl, const std::string& host) {
  if (facts.parameters.window) {
    return "leave --window out, so that the kernel sizes it";
  }
  return fmt::format("raise the last of net.ipv4.{} on {}", sysctl, host);
}

std::optional<Verdict> receive_window(const Facts& facts) {
  if (!facts.outcome.limited_by || facts.outcome.limited_by->receive_window < kMainShare) {
    return std::nullopt;
  }
  return Verdict{
      Limit::ReceiveWindow,
      fmt::format(
          "the receive window of {}, {} over a round trip of {}: {}", facts.ends.receiver,
          math::format_bytes(static_cast<double>(facts.outcome.max_send_window_bytes.value_or(0))),
          math::format_ms(facts.outcome.rtt_ms.median),
          window_advice(facts, "tcp_rmem", facts.ends.receiver))};
}

std::optional<Verdict> send_buffer(const Facts& facts) {
  if (!facts.outcome.limited_by || facts.outcome.limited_by->send_buffer < kMainShare) {
    return std::nullopt;
  }
  return Verdict{Limit::SendBuffer,
                 fmt::format("the send buffer of {}, smaller than bandwidth times delay at a "
                             "round trip of {}: {}",
                             facts.ends.sender, math::format_ms(facts.outcome.rtt_ms.median),
                             window_advice(facts, "tcp_wmem", facts.ends.sender))};
}

std::optional<Verdict> application(const Facts& facts) {
  if (!facts.outcome.limited_by || facts.outcome.limited_by->application < kMainShare) {
    return std::nullopt;
  }
  return Verdict{Limit::Application,
                 fmt::format("the sending program on {}: it had nothing to send for {:.0f} % of "
                             "the time",
                             facts.ends.sender, facts.outcome.limited_by->application * 100)};
}

bool queue_built_up(const Outcome& outcome) {
  return math::has_queue(outcome.rtt_ms.median, outcome.min_rtt_ms.value_or(0),
                         math::kTestQueueFactor);
}

// Looks at whole intervals only: what drains after the last one says nothing about the speed.
bool still_growing(const Outcome& outcome, std::chrono::nanoseconds interval) {
  const double least_s = std::chrono::duration<double>(interval).count() / 2;
  std::vector<double> whole;
  for (const Interval& each : outcome.intervals) {
    if (each.end_s - each.start_s > least_s) {
      whole.push_back(each.throughput_mbps);
    }
  }
  const std::size_t count = whole.size();
  return count >= 2 && outcome.retransmits.value_or(0) == 0 &&
         whole[count - 1] > whole[count - 2] * kStillGrowing;
}

std::string pluralised(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Verdict network(const Facts& facts) {
  const Outcome& outcome = facts.outcome;
  const double least = outcome.min_rtt_ms.value_or(0);
  if (queue_built_up(outcome)) {
    return {
        Limit::Queue,
        fmt::format("the path, full at {}: its queue made {} of round trip out of {}", rate(facts),
                    math::format_ms(outcome.rtt_ms.median), math::format_ms(least))};
  }
  if (facts.loss >= kLossMatters) {
    return {Limit::Loss,
            fmt::format("loss on the path: {}, {:.3f} % of what was sent, held {}'s window at {} "
                        "at most{}",
                        pluralised(outcome.retransmits.value_or(0), "retransmission"),
                        facts.loss * 100, outcome.congestion_control,
                        math::format_bytes(static_cast<double>(outcome.max_cwnd_bytes.value_or(0))),
                        least >= kWideAreaRttMs ? "; more streams or bbr suffer less" : "")};
  }
  if (still_growing(outcome, facts.parameters.interval)) {
    return {Limit::SlowStart,
            "its own start: the connection was still gaining speed at the end; give it a longer "
            "--time"};
  }
  return {Limit::Path,
          fmt::format("the path: {} with the sender always ready, no queue and {}", rate(facts),
                      outcome.retransmits.value_or(0) == 0 ? "no loss" : "hardly loss")};
}

}  // namespace

Outcome outcome_of(const Trial& trial, Direction direction) {
  const bool sends = direction == Direction::Send;
  const Half& sender = sends ? trial.client : trial.server;
  const Half& receiver = sends ? trial.server : trial.client;
  Outcome outcome{
      .direction = direction, .sender_host = sender.host, .receiver_host = receiver.host};
  add_streams(outcome, sender, receiver);
  add_up(outcome);
  outcome.duration_s = duration_of(outcome.streams);
  outcome.throughput_mbps = mbps(outcome.bytes, outcome.duration_s);
  outcome.limited_by = shares_of(outcome.streams);
  const double omit_s = std::chrono::duration<double>(trial.parameters.omit).count();
  const double interval_s = std::chrono::duration<double>(trial.parameters.interval).count();
  outcome.intervals = intervals_of(sender, receiver, omit_s);
  outcome.peak_mbps = peak_of(outcome.intervals, interval_s, outcome.throughput_mbps);
  if (!outcome.streams.empty()) {
    outcome.congestion_control = outcome.streams.front().sender.congestion;
    outcome.mss_bytes = outcome.streams.front().sender.mss_bytes;
  }
  return outcome;
}

std::string_view name_of(Limit limit) {
  constexpr std::array<std::string_view, 11> kNames{
      "nothing",        "asked", "sender-cpu", "receiver-cpu", "application", "send-buffer",
      "receive-window", "loss",  "queue",      "path",         "slow-start"};
  return kNames.at(static_cast<std::size_t>(limit));
}

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Ends& ends) {
  if (outcome.bytes == 0 || outcome.duration_s <= 0) {
    return {Limit::Nothing, "nothing arrived, so nothing can be said"};
  }
  const Facts facts{.outcome = outcome,
                    .parameters = parameters,
                    .ends = ends,
                    .rate_bits_per_s = outcome.throughput_mbps * 1e6,
                    .loss = loss_of(outcome),
                    .sender_thread = busiest_thread(outcome, &StreamOutcome::sender),
                    .receiver_thread = busiest_thread(outcome, &StreamOutcome::receiver)};
  for (const auto look : {asked, cpu, receive_window, send_buffer, application}) {
    if (std::optional<Verdict> verdict = look(facts)) {
      return std::move(*verdict);
    }
  }
  return network(facts);
}

}  // namespace chokepoint::probe::tcp
