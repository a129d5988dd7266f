#include "probe/tcp/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/host/cpu.h"
#include "base/math/queue.h"
#include "base/math/tcp_rate.h"
#include "base/math/units.h"

namespace chokepoint::probe::tcp {
namespace {

constexpr double kPaceReached = 0.96;
constexpr double kMainShare = 0.4;
// From this round trip on a path counts as wide-area.
constexpr double kWideAreaRttMs = 2;
// Still growing at the end: the last whole interval carried this many times the one before it.
constexpr double kStillGrowing = 1.25;

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
  // `least`: the kernel's own minimum may be lower than every sample.
  void add(math::Distribution one, const std::optional<double>& least = {}) {
    if (one.count == 0) {
      return;
    }
    one.min = std::min(one.min, least.value_or(one.min));
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

// A stream of which both ends have reported.
struct BothEnds {
  const StreamMeasure& sender;
  const StreamMeasure& receiver;
};

std::vector<BothEnds> streams_of(const Half& sender, const Half& receiver) {
  std::vector<BothEnds> streams;
  for (const StreamMeasure& received : receiver.streams) {
    const StreamMeasure* sent = find(sender, Role::Send, received.index);
    if (received.role == Role::Receive && sent != nullptr) {
      streams.push_back({*sent, received});
    }
  }
  return streams;
}

// From the first arrival of any stream to the last. Where everything arrived at once, the time
// since the test began: the test was too short for the receiver's two timestamps.
double duration_of(const std::vector<BothEnds>& streams) {
  constexpr double kTooShort = 1e-4;
  double start_s = streams.empty() ? 0 : streams.front().receiver.start_s;
  double end_s = 0;
  for (const BothEnds& stream : streams) {
    start_s = std::min(start_s, stream.receiver.start_s);
    end_s = std::max(end_s, stream.receiver.end_s);
  }
  return end_s - start_s > kTooShort ? end_s - start_s : end_s;
}

std::optional<Shares> shares_of(const std::vector<BothEnds>& streams) {
  double wall = 0;
  double busy = 0;
  double starved = 0;
  Shares time;
  for (const BothEnds& stream : streams) {
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
    Interval interval{
        .start_s = each.start_s,
        .end_s = each.end_s,
        .bytes = each.bytes,
        .throughput_mbps = math::mbps(static_cast<double>(each.bytes), each.end_s - each.start_s)};
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

documents::TcpStream stream_of(const BothEnds& ends) {
  const auto& [sent, received] = ends;
  return {.stream = sent.index,
          .bytes = received.bytes,
          .sent_bytes = sent.total_bytes,
          .received_bytes = received.total_bytes,
          .throughput_mbps =
              math::mbps(static_cast<double>(received.bytes), received.end_s - received.start_s),
          .retransmits = sent.retransmits,
          .max_cwnd_bytes = sent.max_cwnd_bytes,
          .rtt_ms = documents::if_measured(sent.rtt_ms),
          .sender_cpu_percent = sent.cpu_percent,
          .receiver_cpu_percent = received.cpu_percent,
          .error = sent.error.empty() ? received.error : sent.error};
}

void add_up(Outcome& outcome, const std::vector<BothEnds>& streams) {
  documents::TcpFigures& figures = outcome.figures;
  Merged sender_rtt;
  Merged receiver_rtt;
  for (const auto& [sent, received] : streams) {
    figures.bytes += received.bytes;
    figures.sent_bytes += sent.total_bytes;
    figures.received_bytes += received.total_bytes;
    add(figures.retransmits, sent.retransmits);
    add(figures.max_cwnd_bytes, sent.max_cwnd_bytes);
    outcome.max_send_window_bytes = std::max(outcome.max_send_window_bytes, sent.send_window_bytes);
    sender_rtt.add(sent.rtt_ms, sent.min_rtt_ms);
    receiver_rtt.add(received.rtt_ms);
  }
  figures.rtt_ms = documents::if_measured(sender_rtt.sum());
  figures.receiver_rtt_ms = documents::if_measured(receiver_rtt.sum());
}

// A host's name in the sentence.
struct Host {
  const std::string& name;
  std::string_view does;
  double thread_percent = 0;  // of the busiest stream's thread
  std::optional<double> softirq_percent = {};
  std::optional<double> busiest_core_percent = {};
  std::optional<int> softirq_core = {};

  // In percent. A stream's thread and the handling of its packets mostly share a core, so their sum
  // shows how much of the core is left.
  double core_percent() const {
    const double softirq = softirq_percent.value_or(0);
    return std::min(thread_percent + softirq,
                    std::max({busiest_core_percent.value_or(100), thread_percent, softirq}));
  }
};

struct Facts {
  const Outcome& outcome;
  const documents::TcpFigures& figures;
  const Parameters& parameters;
  Host sender;
  Host receiver;
  double rate_bits_per_s = 0;
  double loss = 0;
  math::Distribution rtt_ms = {};
};

double busiest_thread(const documents::TcpFigures& figures,
                      double documents::TcpStream::* cpu_percent) {
  double most = 0;
  for (const documents::TcpStream& stream : figures.per_stream) {
    most = std::max(most, stream.*cpu_percent);
  }
  return most;
}

double loss_of(const documents::TcpFigures& figures) {
  const double mss = static_cast<double>(figures.mss_bytes.value_or(0));
  if (!figures.retransmits || mss <= 0 || figures.bytes == 0) {
    return 0;
  }
  return static_cast<double>(*figures.retransmits) / (static_cast<double>(figures.bytes) / mss);
}

std::string rate(const Facts& facts) { return math::format_rate(facts.rate_bits_per_s); }

std::string cpu_sentence(const Host& host) {
  return fmt::format(
      "the CPU of {}, which {}: a stream's thread used {:.0f} % of a core and the "
      "handling of packets {:.0f} % of core {}",
      host.name, host.does, host.thread_percent, host.softirq_percent.value_or(0),
      host.softirq_core.value_or(0));
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
  const double sender = facts.sender.core_percent();
  const double receiver = facts.receiver.core_percent();
  if (std::max(sender, receiver) < host::kFullCorePercent) {
    return std::nullopt;
  }
  return receiver > sender ? Verdict{Limit::ReceiverCpu, cpu_sentence(facts.receiver)}
                           : Verdict{Limit::SenderCpu, cpu_sentence(facts.sender)};
}

std::string window_advice(const Facts& facts, std::string_view sysctl, const std::string& host) {
  if (facts.parameters.window) {
    return "leave --window out, so that the kernel sizes it";
  }
  return fmt::format("raise the last of net.ipv4.{} on {}", sysctl, host);
}

std::optional<Verdict> receive_window(const Facts& facts) {
  if (!facts.figures.limited_by || facts.figures.limited_by->receive_window < kMainShare) {
    return std::nullopt;
  }
  return Verdict{
      Limit::ReceiveWindow,
      fmt::format(
          "the receive window of {}, {} over a round trip of {}: {}", facts.receiver.name,
          math::format_bytes(static_cast<double>(facts.outcome.max_send_window_bytes.value_or(0))),
          math::format_ms(facts.rtt_ms.median),
          window_advice(facts, "tcp_rmem", facts.receiver.name))};
}

std::optional<Verdict> send_buffer(const Facts& facts) {
  if (!facts.figures.limited_by || facts.figures.limited_by->send_buffer < kMainShare) {
    return std::nullopt;
  }
  return Verdict{Limit::SendBuffer,
                 fmt::format("the send buffer of {}, smaller than bandwidth times delay at a "
                             "round trip of {}: {}",
                             facts.sender.name, math::format_ms(facts.rtt_ms.median),
                             window_advice(facts, "tcp_wmem", facts.sender.name))};
}

std::optional<Verdict> application(const Facts& facts) {
  if (!facts.figures.limited_by || facts.figures.limited_by->application < kMainShare) {
    return std::nullopt;
  }
  return Verdict{Limit::Application,
                 fmt::format("the sending program on {}: it had nothing to send for {:.0f} % of "
                             "the time",
                             facts.sender.name, facts.figures.limited_by->application * 100)};
}

// Looks at whole intervals only: what drains after the last one shows nothing of the speed.
bool still_growing(const documents::TcpFigures& figures, std::chrono::nanoseconds interval) {
  const double least_s = std::chrono::duration<double>(interval).count() / 2;
  std::vector<double> whole;
  for (const Interval& each : figures.intervals) {
    if (each.end_s - each.start_s > least_s) {
      whole.push_back(each.throughput_mbps);
    }
  }
  const std::size_t count = whole.size();
  return count >= 2 && figures.retransmits.value_or(0) == 0 &&
         whole[count - 1] > whole[count - 2] * kStillGrowing;
}

std::string pluralised(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Verdict network(const Facts& facts) {
  const documents::TcpFigures& figures = facts.figures;
  const math::Distribution& rtt_ms = facts.rtt_ms;
  if (math::has_queue(rtt_ms.median, rtt_ms.min, math::kTestQueueFactor)) {
    return {Limit::Queue,
            fmt::format("the path, full at {}: its queue made {} of round trip out of {}",
                        rate(facts), math::format_ms(rtt_ms.median), math::format_ms(rtt_ms.min))};
  }
  if (facts.loss >= math::kMinHarmfulLoss) {
    return {Limit::Loss,
            fmt::format("loss on the path: {}, {:.3f} % of what was sent, held {}'s window at {} "
                        "at most{}",
                        pluralised(figures.retransmits.value_or(0), "retransmission"),
                        facts.loss * 100, figures.congestion_control,
                        math::format_bytes(static_cast<double>(figures.max_cwnd_bytes.value_or(0))),
                        rtt_ms.min >= kWideAreaRttMs ? "; more streams or bbr suffer less" : "")};
  }
  if (still_growing(figures, facts.parameters.interval)) {
    return {Limit::SlowStart,
            "its own start: the connection was still gaining speed at the end; give it a longer "
            "--time"};
  }
  return {Limit::Path,
          fmt::format("the path: {} with the sender always ready, no queue and {}", rate(facts),
                      figures.retransmits.value_or(0) == 0 ? "no loss" : "hardly loss")};
}

documents::TcpCpu cpu_of(const HostMeasure& sender, const HostMeasure& receiver) {
  return {.sender_percent = sender.cpu_percent,
          .receiver_percent = receiver.cpu_percent,
          .sender_softirq_percent = sender.softirq_percent,
          .receiver_softirq_percent = receiver.softirq_percent,
          .sender_busiest_core_percent = sender.busiest_core_percent,
          .receiver_busiest_core_percent = receiver.busiest_core_percent};
}

}  // namespace

Outcome outcome_of(const Trial& trial, Direction direction) {
  const bool sends = direction == Direction::Send;
  const Half& sender = sends ? trial.client : trial.server;
  const Half& receiver = sends ? trial.server : trial.client;
  const std::vector<BothEnds> streams = streams_of(sender, receiver);
  Outcome outcome{.direction = direction,
                  .figures = {.duration_s = duration_of(streams),
                              .cpu = cpu_of(sender.host, receiver.host),
                              .pacing = sender.host.pacing,
                              .limited_by = shares_of(streams)},
                  .sender_softirq_core = sender.host.softirq_core,
                  .receiver_softirq_core = receiver.host.softirq_core};
  add_up(outcome, streams);
  documents::TcpFigures& figures = outcome.figures;
  figures.throughput_mbps = math::mbps(static_cast<double>(figures.bytes), figures.duration_s);
  const double omit_s = std::chrono::duration<double>(trial.parameters.omit).count();
  const double interval_s = std::chrono::duration<double>(trial.parameters.interval).count();
  figures.intervals = intervals_of(sender, receiver, omit_s);
  figures.peak_mbps = peak_of(figures.intervals, interval_s, figures.throughput_mbps);
  std::ranges::transform(streams, std::back_inserter(figures.per_stream), stream_of);
  if (!streams.empty()) {
    figures.congestion_control = streams.front().sender.congestion;
    figures.mss_bytes = streams.front().sender.mss_bytes;
  }
  return outcome;
}

Verdict judge(const Outcome& outcome, const Parameters& parameters, const Ends& ends) {
  const documents::TcpFigures& figures = outcome.figures;
  if (figures.bytes == 0 || figures.duration_s <= 0) {
    return {Limit::Nothing, "nothing arrived, so nothing can be said"};
  }
  const documents::TcpCpu& used = figures.cpu;
  const Facts facts{.outcome = outcome,
                    .figures = figures,
                    .parameters = parameters,
                    .sender = {.name = ends.sender,
                               .does = "sends",
                               .thread_percent = busiest_thread(
                                   figures, &documents::TcpStream::sender_cpu_percent),
                               .softirq_percent = used.sender_softirq_percent,
                               .busiest_core_percent = used.sender_busiest_core_percent,
                               .softirq_core = outcome.sender_softirq_core},
                    .receiver = {.name = ends.receiver,
                                 .does = "receives",
                                 .thread_percent = busiest_thread(
                                     figures, &documents::TcpStream::receiver_cpu_percent),
                                 .softirq_percent = used.receiver_softirq_percent,
                                 .busiest_core_percent = used.receiver_busiest_core_percent,
                                 .softirq_core = outcome.receiver_softirq_core},
                    .rate_bits_per_s = figures.throughput_mbps * 1e6,
                    .loss = loss_of(figures),
                    .rtt_ms = figures.rtt_ms.value_or(math::Distribution{})};
  for (const auto look : {asked, cpu, receive_window, send_buffer, application}) {
    if (std::optional<Verdict> verdict = look(facts)) {
      return std::move(*verdict);
    }
  }
  return network(facts);
}

}  // namespace chokepoint::probe::tcp
