#include "probe/tcp/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include "base/math/units.h"

namespace chokepoint::probe::tcp {
namespace {

// A thread or core that is busy for more than this has nothing left to give.
constexpr double kCpuFull = 92;
constexpr double kPaceReached = 0.96;
constexpr double kMainShare = 0.4;
// Segments sent again, of all: below this a window of cubic or Reno recovers faster than it falls.
constexpr double kLossMatters = 2e-5;
// A queue has built up where the round trip has grown by this much and by this many times.
constexpr double kQueueMs = 0.5;
constexpr double kQueueTimes = 1.3;
// A wide-area path, as the verdicts' classes have it.
constexpr double kWideAreaRttMs = 2;
// Still growing at the end: the last whole interval carried this much more than the one before it.
constexpr double kStillGrowing = 1.25;

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

// A stream's thread and the handling of its packets share a core more often than not, so together
// they tell how much of it is left.
double fullness(const HostMeasure& host, double thread) {
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
  const double sender = fullness(outcome.sender_host, facts.sender_thread);
  const double receiver = fullness(outcome.receiver_host, facts.receiver_thread);
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
          "the receive window of {}, {} over a round trip of {:.2f} ms: {}", facts.ends.receiver,
          math::format_bytes(static_cast<double>(facts.outcome.max_send_window_bytes.value_or(0))),
          facts.outcome.rtt_ms.median, window_advice(facts, "tcp_rmem", facts.ends.receiver))};
}

std::optional<Verdict> send_buffer(const Facts& facts) {
  if (!facts.outcome.limited_by || facts.outcome.limited_by->send_buffer < kMainShare) {
    return std::nullopt;
  }
  return Verdict{Limit::SendBuffer,
                 fmt::format("the send buffer of {}, smaller than bandwidth times delay at a "
                             "round trip of {:.2f} ms: {}",
                             facts.ends.sender, facts.outcome.rtt_ms.median,
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
  const double least = outcome.min_rtt_ms.value_or(0);
  return least > 0 && outcome.rtt_ms.median > least + kQueueMs &&
         outcome.rtt_ms.median > least * kQueueTimes;
}

// What drains after the last whole interval says nothing of speed.
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
        fmt::format("the path, full at {}: its queue made {:.2f} ms of round trip out of {:.2f} "
                    "ms",
                    rate(facts), outcome.rtt_ms.median, least)};
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
