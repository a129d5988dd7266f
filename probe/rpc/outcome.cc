#include "probe/rpc/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/math/queue.h"
#include "base/math/units.h"
#include "probe/rpc/wire.h"

namespace chokepoint::probe::rpc {
namespace {

// A thread that waits for less than the rest of this has no capacity left.
constexpr double kThreadFull = 88;
// A core that handles packets in interrupts for more than this has none either.
constexpr double kSoftirqFull = 92;
// Of the mean latency: what more than the median is due to few calls that took very long.
constexpr double kLossShare = 0.3;
constexpr double kOutlierShare = 0.5;
// Of the time in which TCP had something to send.
constexpr double kWindowShare = 0.2;
// From here on a call took more than its one round trip.
constexpr double kMoreThanOne = 1.6;
// Below this the hosts' own times are as large as the way's.
constexpr double kShortTripMs = 0.5;
// Less than the shortest delay of an acknowledgement, 40 ms.
constexpr double kDelayedAckMs = 25;
constexpr double kNagleTimes = 1.3;
// After so long without data the congestion window is made small again: the shortest timeout.
constexpr std::chrono::milliseconds kIdle{200};
constexpr int kManyOutstanding = 64;
constexpr int kTimesMore = 8;

double mbps_of(double messages_per_s, std::uint64_t bytes) {
  return messages_per_s * static_cast<double>(bytes) * math::kBits / math::kMega;
}

std::string bytes_text(double bytes) { return math::format_bytes(bytes); }

struct Facts {
  const Outcome& outcome;
  const HopOutcome& at;  // the hop on whose way most time went
  const Parameters& parameters;

  // The direction that carries more.
  bool is_request() const { return parameters.request_bytes >= parameters.response_bytes; }
  const SentMeasure& sent() const { return is_request() ? at.hop.requests : at.hop.worker.answers; }
  std::uint64_t size() const {
    return std::max(parameters.request_bytes, parameters.response_bytes);
  }
  const std::string& sender() const { return is_request() ? at.caller : at.hop.host; }
  const std::string& receiver() const { return is_request() ? at.hop.host : at.caller; }
  std::string message() const {
    return fmt::format("{} of {}", is_request() ? "a request" : "an answer",
                       bytes_text(static_cast<double>(size())));
  }
  std::string rate() const {
    return math::format_rate((is_request() ? outcome.request_mbps : outcome.response_mbps) *
                             math::kMega);
  }
  // The median call's, without what the worker held it.
  double on_the_way_ms() const {
    return std::max(at.hop.latency_ms.values.median - at.hop.worker.held_ms.values.median, 0.0);
  }
  // In a chain: whose way it is.
  std::string way() const {
    return outcome.hops.size() == 1 ? "" : fmt::format(" from {} to {}", at.caller, at.hop.host);
  }
};

std::optional<double> round_trip_of(const Hop& hop) {
  const auto& there = hop.requests.min_rtt_ms;
  const auto& back = hop.worker.answers.min_rtt_ms;
  return there && back ? std::optional(std::min(*there, *back)) : there ? there : back;
}

bool is_full(const HostMeasure& host) {
  return host.busy_percent >= kThreadFull || host.softirq_percent.value_or(0) >= kSoftirqFull;
}

std::string processor_text(const std::string& host, const HostMeasure& measure) {
  return measure.busy_percent >= kThreadFull
             ? fmt::format(
                   "the processor of {}: the thread that has the connections was busy for "
                   "{:.0f} % of the time",
                   host, measure.busy_percent)
             : fmt::format("the processor of {}: a core spent {:.0f} % of its time on packets",
                           host, measure.softirq_percent.value_or(0));
}

std::optional<Verdict> processor(const Trial& trial, const Outcome& outcome,
                                 const std::string& client) {
  if (is_full(trial.client)) {
    return Verdict{Limit::ClientCpu, processor_text(client, trial.client)};
  }
  for (const HopOutcome& each : outcome.hops) {
    if (is_full(each.hop.worker.host)) {
      return Verdict{Limit::WorkerCpu, processor_text(each.hop.host, each.hop.worker.host)};
    }
  }
  return std::nullopt;
}

// One that held calls for longer than any way took, and for half of their time at least.
std::optional<Verdict> worker(const Outcome& outcome) {
  const auto most = std::ranges::max_element(outcome.hops, {}, &HopOutcome::own_ms);
  const auto way = std::ranges::max_element(outcome.hops, {}, &HopOutcome::network_ms);
  const double mean = outcome.hops.front().hop.latency_ms.values.mean;
  if (most->own_ms < way->network_ms || most->own_ms < mean / 2) {
    return std::nullopt;
  }
  return Verdict{Limit::Worker,
                 fmt::format("{}, which held a call for {} of its {}", most->hop.host,
                             math::format_ms(most->own_ms), math::format_ms(mean))};
}

std::optional<Verdict> loss(const Facts& facts) {
  const std::uint64_t lost =
      facts.at.hop.requests.retransmits + facts.at.hop.worker.answers.retransmits;
  const math::Distribution& latency = facts.at.hop.latency_ms.values;
  const double excess_ms = latency.mean - latency.median;
  // What the retransmissions may have cost at the most: each delayed all calls of one caller.
  const double explained_ms = static_cast<double>(lost) * facts.parameters.outstanding *
                              (latency.max - latency.median) / static_cast<double>(latency.count);
  if (lost == 0 || excess_ms < kLossShare * latency.mean || explained_ms < excess_ms / 2) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Loss,
      fmt::format("loss on the path{}: {} segments were retransmitted, and calls that waited for "
                  "one made the mean {} out of a median of {}",
                  facts.way(), lost, math::format_ms(latency.mean),
                  math::format_ms(latency.median))};
}

std::optional<Verdict> outliers(const Facts& facts) {
  const math::Distribution& latency = facts.at.hop.latency_ms.values;
  if (latency.mean - latency.median < kOutlierShare * latency.mean) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Outliers,
      fmt::format("few calls that took very long{}: they made the mean {} out of a "
                  "median of {}, and nothing was retransmitted; other traffic on the "
                  "path or other programs on the hosts' processors do that",
                  facts.way(), math::format_ms(latency.mean), math::format_ms(latency.median))};
}

// Of what a program writes in parts, or several messages at once, a small segment waits until the
// one before it is acknowledged, which the other host may delay by 40 ms.
std::optional<Verdict> nagle(const Facts& facts) {
  const double trip = round_trip_of(facts.at.hop).value_or(0);
  const double way_ms = facts.at.network_ms;  // the mean: not every message waits
  const bool waits =
      (trip >= kShortTripMs && way_ms >= kNagleTimes * trip) || way_ms - trip >= kDelayedAckMs;
  if (facts.parameters.no_delay || facts.size() > kFirstFlightBytes || !waits) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Nagle,
      fmt::format("Nagle's algorithm{}: a small message waits until the one before it is "
                  "acknowledged, which makes {} (mean) of a round trip of {}; --no-delay on "
                  "leaves it out",
                  facts.way(), math::format_ms(way_ms), math::format_ms(trip))};
}

// What TCP's own stopwatch says of the direction that carries more.
std::optional<Verdict> buffers(const Facts& facts) {
  const SentMeasure& sent = facts.sent();
  if (facts.size() <= kFirstFlightBytes || sent.busy_s <= 0) {
    return std::nullopt;
  }
  const auto share = [&](double seconds) { return seconds / sent.busy_s; };
  if (share(sent.receive_window_s) > kWindowShare && sent.receive_window_s >= sent.send_buffer_s) {
    return Verdict{Limit::ReceiveWindow,
                   fmt::format("the receive window of {} for {:.0f} % of the time: raise "
                               "net.ipv4.tcp_rmem there",
                               facts.receiver(), math::kPercent * share(sent.receive_window_s))};
  }
  if (share(sent.send_buffer_s) > kWindowShare) {
    return Verdict{Limit::SendBuffer,
                   fmt::format("the send buffer of {} for {:.0f} % of the time: raise "
                               "net.ipv4.tcp_wmem there",
                               facts.sender(), math::kPercent * share(sent.send_buffer_s))};
  }
  return std::nullopt;
}

std::optional<Verdict> queue(const Facts& facts) {
  const SentMeasure& sent = facts.sent();
  const Parameters& asked = facts.parameters;
  const std::uint64_t at_once = facts.size() * static_cast<std::uint64_t>(asked.outstanding) *
                                static_cast<std::uint64_t>(asked.callers);
  const double least = sent.min_rtt_ms.value_or(0);
  if (at_once <= kFirstFlightBytes ||
      !math::has_queue(sent.rtt_ms.median, least, math::kTestQueueFactor)) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Path,
      fmt::format("a full path{}: its queue made {} of round trip out of {}, {} segments "
                  "were retransmitted, and calls carried {} on average",
                  facts.way(), math::format_ms(sent.rtt_ms.median), math::format_ms(least),
                  sent.retransmits, facts.rate())};
}

std::optional<Verdict> window(const Facts& facts) {
  const SentMeasure& sent = facts.sent();
  const double trip = round_trip_of(facts.at.hop).value_or(0);
  const double rounds = facts.at.round_trips.value_or(0);
  if (facts.size() <= kFirstFlightBytes || trip < kShortTripMs || rounds < kMoreThanOne ||
      sent.window_bytes.count == 0 ||
      sent.window_bytes.median >= static_cast<double>(facts.size())) {
    return std::nullopt;
  }
  std::string sentence = fmt::format(
      "the congestion window{}: {} is larger than it, {} when the message begins, and a call takes "
      "{:.1f} round trips of {}",
      facts.way(), facts.message(), bytes_text(sent.window_bytes.median), rounds,
      math::format_ms(trip));
  if (facts.parameters.pause >= kIdle) {
    sentence += fmt::format(
        "; while the connection is idle for {} its window becomes small again, which "
        "net.ipv4.tcp_slow_start_after_idle=0 at {} prevents",
        math::format_duration(facts.parameters.pause), facts.sender());
  }
  return Verdict{Limit::Window, std::move(sentence)};
}

Verdict hosts(const Facts& facts, double trip) {
  return {Limit::Hosts,
          fmt::format("the two hosts{}, which take {} of a call's {} to wake up and to pass it "
                      "between network and program",
                      facts.way(), math::format_ms(std::max(facts.on_the_way_ms() - trip, 0.0)),
                      math::format_ms(facts.at.hop.latency_ms.values.median))};
}

Verdict transmission(const Facts& facts) {
  return {Limit::Path, fmt::format("the path{}, which carries {}: {} takes most of a call's {}",
                                   facts.way(), facts.rate(), facts.message(),
                                   math::format_ms(facts.at.hop.latency_ms.values.median))};
}

Verdict round_trip(const Facts& facts, double trip) {
  const int outstanding = facts.parameters.outstanding;
  std::string sentence =
      outstanding == 1 ? fmt::format(
                             "the round trip{}: a call costs one of {}, and a caller has one call "
                             "outstanding",
                             facts.way(), math::format_ms(trip))
                       : fmt::format(
                             "the round trip{}: a call costs one of {}, and a caller has {} calls "
                             "outstanding",
                             facts.way(), math::format_ms(trip), outstanding);
  if (facts.parameters.pause.count() > 0) {
    sentence +=
        fmt::format(" and pauses for {} after each", math::format_duration(facts.parameters.pause));
  } else if (outstanding < kManyOutstanding) {
    sentence += fmt::format("; {} outstanding calls would make up to {} times as many",
                            kTimesMore * outstanding, kTimesMore);
  }
  return {Limit::RoundTrip, std::move(sentence)};
}

Verdict by_time_on_the_way(const Facts& facts) {
  const double trip = round_trip_of(facts.at.hop).value_or(0);
  if (facts.on_the_way_ms() < kMoreThanOne * trip) {
    return round_trip(facts, trip);
  }
  return facts.size() > kFirstFlightBytes ? transmission(facts) : hosts(facts, trip);
}

Verdict judge(const Trial& trial, const Outcome& outcome, const std::string& client) {
  if (outcome.calls == 0) {
    return {Limit::Nothing, "nothing that can be told: no call was answered"};
  }
  if (std::optional<Verdict> verdict = processor(trial, outcome, client)) {
    return *std::move(verdict);
  }
  if (std::optional<Verdict> verdict = worker(outcome)) {
    return *std::move(verdict);
  }
  const Facts facts{.outcome = outcome,
                    .at = *std::ranges::max_element(outcome.hops, {}, &HopOutcome::network_ms),
                    .parameters = trial.parameters};
  for (const auto look : {loss, outliers, nagle, buffers, queue, window}) {
    if (std::optional<Verdict> verdict = look(facts)) {
      return *std::move(verdict);
    }
  }
  return by_time_on_the_way(facts);
}

HopOutcome hop_outcome(const std::vector<Hop>& hops, std::size_t index, const std::string& caller) {
  const Hop& hop = hops[index];
  const double held = hop.worker.held_ms.values.mean;
  const double further = index + 1 < hops.size() ? hops[index + 1].latency_ms.values.mean : 0;
  const double all = hops.front().latency_ms.values.mean;
  HopOutcome outcome{.hop = hop,
                     .caller = caller,
                     .network_ms = std::max(hop.latency_ms.values.mean - held, 0.0),
                     .own_ms = std::max(held - further, 0.0)};
  if (all > 0) {
    outcome.network_percent = math::kPercent * outcome.network_ms / all;
    outcome.own_percent = math::kPercent * outcome.own_ms / all;
  }
  const std::optional<double> trip = round_trip_of(hop);
  if (trip && *trip > 0 && hop.latency_ms.values.count > 0) {
    outcome.round_trips =
        std::max(hop.latency_ms.values.median - hop.worker.held_ms.values.median, 0.0) / *trip;
  }
  return outcome;
}

}  // namespace

Outcome outcome_of(const Trial& trial, const std::string& client) {
  Outcome outcome;
  std::string caller = client;
  for (std::size_t i = 0; i < trial.hops.size(); ++i) {
    outcome.hops.push_back(hop_outcome(trial.hops, i, caller));
    caller = trial.hops[i].host;
  }
  if (outcome.hops.empty()) {
    return outcome;
  }
  outcome.calls = trial.hops.front().calls;
  if (trial.duration_s > 0) {
    outcome.calls_per_s = static_cast<double>(outcome.calls) / trial.duration_s;
  }
  outcome.request_mbps = mbps_of(outcome.calls_per_s, trial.parameters.request_bytes);
  outcome.response_mbps = mbps_of(outcome.calls_per_s, trial.parameters.response_bytes);
  outcome.verdict = judge(trial, outcome, client);
  return outcome;
}

std::optional<std::string> family_difference(const std::string& name, const FamilyLook& used,
                                             const FamilyLook& other) {
  constexpr double kTimes = 1.5;
  constexpr double kMinMs = 2;
  const double mine = used.latency_ms.values.median;
  const double its = other.latency_ms.values.median;
  if (used.latency_ms.values.count == 0 || other.latency_ms.values.count == 0 ||
      std::abs(mine - its) < kMinMs || std::max(mine, its) < kTimes * std::min(mine, its)) {
    return std::nullopt;
  }
  const FamilyLook& good = mine < its ? used : other;
  return fmt::format(
      "{0} resolves to IPv4 and IPv6, and a call takes {1} over {2} and {3} over {4}; which one a "
      "job takes is its program's choice, torch RPC's is the name's first: give {0} the address "
      "{5} "
      "alone (a line '{5} {0}' in /etc/hosts)",
      name, math::format_ms(mine), used.family, math::format_ms(its), other.family, good.address);
}

}  // namespace chokepoint::probe::rpc
