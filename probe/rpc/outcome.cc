#include "probe/rpc/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/host/cpu.h"
#include "base/math/path_difference.h"
#include "base/math/queue.h"
#include "base/math/units.h"
#include "probe/rpc/wire.h"

namespace chokepoint::probe::rpc {
namespace {

// Shares of the mean latency by which it exceeds the median, due to few calls that took very long:
// with retransmissions, and without.
constexpr double kMinLossShare = 0.3;
constexpr double kMinOutlierShare = 0.5;
// The share of the time in which TCP had something to send, but a window had no room.
constexpr double kMinWindowShare = 0.2;
// From so many round trips on, a call took more than one.
constexpr double kMinRoundTrips = 1.6;
// On a path with a shorter round trip the hosts' own times are as large as the path's.
constexpr double kShortTripMs = 0.5;
// Less than the shortest delay of an acknowledgement, 40 ms (TCP_DELACK_MIN, include/net/tcp.h).
constexpr double kDelayedAckMs = 25;
// A message that waits for an acknowledgement takes at least so many round trips.
constexpr double kNagleFactor = 1.3;
// Without data for so long the congestion window is made small again: the shortest retransmission
// timeout (TCP_RTO_MIN, include/net/tcp.h).
constexpr std::chrono::milliseconds kIdle{200};
// The most calls at once that a sentence advises, and how many times as many as there were.
constexpr int kMaxAdvisedOutstanding = 64;
constexpr int kAdvisedFactor = 8;

double mbps_of(double messages_per_s, std::uint64_t bytes) {
  return messages_per_s * static_cast<double>(bytes) * math::kBits / math::kMega;
}

std::string bytes_text(double bytes) { return math::format_bytes(bytes); }

struct Verdict {
  Limit limit = Limit::Nothing;
  std::string sentence = {};
};

// Zeros where nothing was measured.
template <class Figures>
Figures known(const std::optional<Figures>& figures) {
  return figures.value_or(Figures{});
}

// The median call's, without what the worker held it.
double median_network_ms(const documents::RpcHop& hop) {
  return std::max(known(hop.latency_ms).median - known(hop.held_ms).median, 0.0);
}

struct Facts {
  const documents::ProbeRpc& outcome;
  const documents::RpcHop& at;  // the hop on whose way most time went
  const Parameters& parameters;

  // The direction that carries more.
  bool is_request() const { return parameters.request_bytes >= parameters.response_bytes; }
  const documents::RpcMessages& sent() const { return is_request() ? at.requests : at.answers; }
  std::uint64_t size() const {
    return std::max(parameters.request_bytes, parameters.response_bytes);
  }
  const std::string& sender() const { return is_request() ? at.caller : at.worker; }
  const std::string& receiver() const { return is_request() ? at.worker : at.caller; }
  std::string message() const {
    return fmt::format("{} of {}", is_request() ? "a request" : "an answer",
                       bytes_text(static_cast<double>(size())));
  }
  std::string rate() const {
    return math::format_rate((is_request() ? outcome.request_mbps : outcome.response_mbps) *
                             math::kMega);
  }
  // In a chain: between which hosts; else empty.
  std::string on_path() const {
    return outcome.hops.size() == 1 ? "" : fmt::format(" from {} to {}", at.caller, at.worker);
  }
};

std::optional<double> round_trip_of(const documents::RpcHop& hop) {
  const auto& there = hop.requests.min_rtt_ms;
  const auto& back = hop.answers.min_rtt_ms;
  return there && back ? std::optional(std::min(*there, *back)) : there ? there : back;
}

bool is_full(const documents::RpcCpu& host) {
  return host.busy_percent >= host::kFullThreadPercent ||
         host.softirq_percent.value_or(0) >= host::kFullCorePercent;
}

std::string processor_text(const std::string& host, const documents::RpcCpu& measure) {
  return measure.busy_percent >= host::kFullThreadPercent
             ? fmt::format(
                   "the processor of {}: the thread that has the connections was busy for "
                   "{:.0f} % of the time",
                   host, measure.busy_percent)
             : fmt::format("the processor of {}: a core spent {:.0f} % of its time on packets",
                           host, measure.softirq_percent.value_or(0));
}

std::optional<Verdict> processor(const documents::ProbeRpc& outcome) {
  if (is_full(outcome.client_cpu)) {
    return Verdict{Limit::ClientCpu,
                   processor_text(outcome.hops.front().caller, outcome.client_cpu)};
  }
  for (const documents::RpcHop& each : outcome.hops) {
    if (is_full(each.worker_cpu)) {
      return Verdict{Limit::WorkerCpu, processor_text(each.worker, each.worker_cpu)};
    }
  }
  return std::nullopt;
}

// A worker that held calls for longer than any hop's network took, and for at least half of their
// time.
std::optional<Verdict> worker(const documents::ProbeRpc& outcome) {
  const auto most = std::ranges::max_element(outcome.hops, {}, &documents::RpcHop::own_ms);
  const auto slowest = std::ranges::max_element(outcome.hops, {}, &documents::RpcHop::network_ms);
  const double mean = known(outcome.latency_ms).mean;
  if (most->own_ms < slowest->network_ms || most->own_ms < mean / 2) {
    return std::nullopt;
  }
  return Verdict{Limit::Worker, fmt::format("{}, which held a call for {} of its {}", most->worker,
                                            math::format_ms(most->own_ms), math::format_ms(mean))};
}

std::optional<Verdict> loss(const Facts& facts) {
  const std::uint64_t lost = facts.at.requests.retransmits + facts.at.answers.retransmits;
  const documents::RpcTimes latency = known(facts.at.latency_ms);
  const double excess_ms = latency.mean - latency.median;
  // What the retransmissions may have cost at the most: each delayed all calls of one caller.
  const double explained_ms = static_cast<double>(lost) * facts.parameters.outstanding *
                              (latency.max - latency.median) / static_cast<double>(latency.count);
  if (lost == 0 || excess_ms < kMinLossShare * latency.mean || explained_ms < excess_ms / 2) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Loss,
      fmt::format("loss on the path{}: {} segments were retransmitted, and calls that waited for "
                  "one made the mean {} out of a median of {}",
                  facts.on_path(), lost, math::format_ms(latency.mean),
                  math::format_ms(latency.median))};
}

std::optional<Verdict> outliers(const Facts& facts) {
  const documents::RpcTimes latency = known(facts.at.latency_ms);
  if (latency.mean - latency.median < kMinOutlierShare * latency.mean) {
    return std::nullopt;
  }
  const std::uint64_t lost = facts.at.requests.retransmits + facts.at.answers.retransmits;
  return Verdict{
      Limit::Outliers,
      fmt::format("few calls that took very long{}: they made the mean {} out of a "
                  "median of {}, and {}; other traffic on the "
                  "path or other programs on the hosts' processors do that",
                  facts.on_path(), math::format_ms(latency.mean), math::format_ms(latency.median),
                  lost == 0 ? std::string("nothing was retransmitted")
                            : fmt::format("{} retransmitted segments are too few for that", lost))};
}

// Of what a program writes in parts, or several messages at once, a small segment waits until the
// one before it is acknowledged, which the other host may delay by 40 ms.
std::optional<Verdict> nagle(const Facts& facts) {
  const double trip = round_trip_of(facts.at).value_or(0);
  const double network_ms = facts.at.network_ms;  // the mean: not every message waits
  const bool waits = (trip >= kShortTripMs && network_ms >= kNagleFactor * trip) ||
                     network_ms - trip >= kDelayedAckMs;
  if (facts.parameters.no_delay || facts.size() > kFirstFlightBytes || !waits) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Nagle,
      fmt::format("Nagle's algorithm{}: a small message waits until the one before it is "
                  "acknowledged, which makes {} (mean) of a round trip of {}; --no-delay on "
                  "leaves it out",
                  facts.on_path(), math::format_ms(network_ms), math::format_ms(trip))};
}

// By TCP's own times (tcp_info) of the direction that carries more.
std::optional<Verdict> buffers(const Facts& facts) {
  const documents::RpcShares& shares = facts.sent().limited_by;
  if (facts.size() <= kFirstFlightBytes || !shares.receive_window || !shares.send_buffer) {
    return std::nullopt;
  }
  if (*shares.receive_window > kMinWindowShare && *shares.receive_window >= *shares.send_buffer) {
    return Verdict{Limit::ReceiveWindow,
                   fmt::format("the receive window of {} for {:.0f} % of the time: raise "
                               "net.ipv4.tcp_rmem there",
                               facts.receiver(), math::kPercent * *shares.receive_window)};
  }
  if (*shares.send_buffer > kMinWindowShare) {
    return Verdict{Limit::SendBuffer,
                   fmt::format("the send buffer of {} for {:.0f} % of the time: raise "
                               "net.ipv4.tcp_wmem there",
                               facts.sender(), math::kPercent * *shares.send_buffer)};
  }
  return std::nullopt;
}

std::optional<Verdict> queue(const Facts& facts) {
  const documents::RpcMessages& sent = facts.sent();
  const Parameters& asked = facts.parameters;
  const std::uint64_t at_once = facts.size() * static_cast<std::uint64_t>(asked.outstanding) *
                                static_cast<std::uint64_t>(asked.callers);
  const double least = sent.min_rtt_ms.value_or(0);
  if (at_once <= kFirstFlightBytes ||
      !math::has_queue(known(sent.rtt_ms).median, least, math::kTestQueueFactor)) {
    return std::nullopt;
  }
  return Verdict{
      Limit::Path,
      fmt::format("a full path{}: its queue made {} of round trip out of {}, {} segments "
                  "were retransmitted, and calls carried {} on average",
                  facts.on_path(), math::format_ms(known(sent.rtt_ms).median),
                  math::format_ms(least), sent.retransmits, facts.rate())};
}

std::optional<Verdict> window(const Facts& facts) {
  const documents::RpcMessages& sent = facts.sent();
  const double trip = round_trip_of(facts.at).value_or(0);
  const double rounds = facts.at.round_trips.value_or(0);
  if (facts.size() <= kFirstFlightBytes || trip < kShortTripMs || rounds < kMinRoundTrips ||
      !sent.window_bytes || sent.window_bytes->median >= static_cast<double>(facts.size())) {
    return std::nullopt;
  }
  std::string sentence = fmt::format(
      "the congestion window{}: {} is larger than it, {} when the message begins, and a call takes "
      "{:.1f} round trips of {}",
      facts.on_path(), facts.message(), bytes_text(sent.window_bytes->median), rounds,
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
                      facts.on_path(),
                      math::format_ms(std::max(median_network_ms(facts.at) - trip, 0.0)),
                      math::format_ms(known(facts.at.latency_ms).median))};
}

Verdict transmission(const Facts& facts) {
  return {Limit::Path, fmt::format("the path{}, which carries {}: {} takes most of a call's {}",
                                   facts.on_path(), facts.rate(), facts.message(),
                                   math::format_ms(known(facts.at.latency_ms).median))};
}

Verdict round_trip(const Facts& facts, double trip) {
  const int outstanding = facts.parameters.outstanding;
  std::string sentence =
      outstanding == 1 ? fmt::format(
                             "the round trip{}: a call costs one of {}, and a caller has one call "
                             "outstanding",
                             facts.on_path(), math::format_ms(trip))
                       : fmt::format(
                             "the round trip{}: a call costs one of {}, and a caller has {} calls "
                             "outstanding",
                             facts.on_path(), math::format_ms(trip), outstanding);
  if (facts.parameters.pause.count() > 0) {
    sentence +=
        fmt::format(" and pauses for {} after each", math::format_duration(facts.parameters.pause));
  } else if (outstanding < kMaxAdvisedOutstanding) {
    sentence += fmt::format("; {} outstanding calls would make up to {} times as many",
                            kAdvisedFactor * outstanding, kAdvisedFactor);
  }
  return {Limit::RoundTrip, std::move(sentence)};
}

Verdict by_network_time(const Facts& facts) {
  const double trip = round_trip_of(facts.at).value_or(0);
  if (median_network_ms(facts.at) < kMinRoundTrips * trip) {
    return round_trip(facts, trip);
  }
  return facts.size() > kFirstFlightBytes ? transmission(facts) : hosts(facts, trip);
}

Verdict judge(const Parameters& parameters, const documents::ProbeRpc& outcome) {
  if (outcome.calls == 0) {
    return {Limit::Nothing, "nothing that is known: no call was answered"};
  }
  if (std::optional<Verdict> verdict = processor(outcome)) {
    return *std::move(verdict);
  }
  if (std::optional<Verdict> verdict = worker(outcome)) {
    return *std::move(verdict);
  }
  const Facts facts{
      .outcome = outcome,
      .at = *std::ranges::max_element(outcome.hops, {}, &documents::RpcHop::network_ms),
      .parameters = parameters};
  for (const auto look : {loss, outliers, nagle, buffers, queue, window}) {
    if (std::optional<Verdict> verdict = look(facts)) {
      return *std::move(verdict);
    }
  }
  return by_network_time(facts);
}

documents::RpcMessages messages_of(const SentMeasure& sent) {
  const auto share = [&](double part_s) {
    return sent.busy_s > 0 ? std::optional(part_s / sent.busy_s) : std::nullopt;
  };
  return {.retransmits = sent.retransmits,
          .rtt_ms = documents::if_measured(sent.rtt_ms),
          .min_rtt_ms = sent.min_rtt_ms,
          .mss_bytes = sent.mss_bytes,
          .window_bytes = documents::if_measured(sent.window_bytes),
          .max_window_bytes = sent.max_window_bytes,
          .limited_by = {.receive_window = share(sent.receive_window_s),
                         .send_buffer = share(sent.send_buffer_s)}};
}

documents::RpcCpu cpu_of(const HostMeasure& host) {
  return {.percent = host.cpu_percent,
          .busy_percent = host.busy_percent,
          .softirq_percent = host.softirq_percent};
}

documents::RpcHop hop_of(const std::vector<Hop>& hops, std::size_t index,
                         const std::string& caller) {
  const Hop& hop = hops[index];
  const double held = hop.worker.held_ms.values.mean;
  const double further = index + 1 < hops.size() ? hops[index + 1].latency_ms.values.mean : 0;
  const double all = hops.front().latency_ms.values.mean;
  documents::RpcHop made{.caller = caller,
                         .worker = hop.host,
                         .address = hop.address,
                         .calls = hop.calls,
                         .latency_ms = times_of(hop.latency_ms),
                         .held_ms = times_of(hop.worker.held_ms),
                         .network_ms = std::max(hop.latency_ms.values.mean - held, 0.0),
                         .own_ms = std::max(held - further, 0.0),
                         .requests = messages_of(hop.requests),
                         .answers = messages_of(hop.worker.answers),
                         .worker_cpu = cpu_of(hop.worker.host)};
  if (all > 0) {
    made.network_percent = math::kPercent * made.network_ms / all;
    made.own_percent = math::kPercent * made.own_ms / all;
  }
  const std::optional<double> trip = round_trip_of(made);
  if (trip && *trip > 0 && made.latency_ms) {
    made.round_trips = median_network_ms(made) / *trip;
  }
  return made;
}

}  // namespace

documents::ProbeRpc outcome_of(const Trial& trial, const std::string& client) {
  const Parameters& asked = trial.parameters;
  documents::ProbeRpc outcome{
      .request_bytes = asked.request_bytes,
      .response_bytes = asked.response_bytes,
      .callers = asked.callers,
      .outstanding = asked.outstanding,
      .pause_ms = std::chrono::duration<double, std::milli>(asked.pause).count(),
      .no_delay = asked.no_delay,
      .interrupted = trial.interrupted,
      .duration_s = trial.duration_s,
      .unanswered = trial.unanswered,
      .client_cpu = cpu_of(trial.client),
      .intervals = trial.intervals};
  std::string caller = client;
  for (std::size_t i = 0; i < trial.hops.size(); ++i) {
    outcome.hops.push_back(hop_of(trial.hops, i, caller));
    caller = trial.hops[i].host;
  }
  if (outcome.hops.empty()) {
    return outcome;
  }
  const documents::RpcHop& first = outcome.hops.front();
  outcome.calls = first.calls;
  if (trial.duration_s > 0) {
    outcome.calls_per_s = static_cast<double>(outcome.calls) / trial.duration_s;
  }
  outcome.request_mbps = mbps_of(outcome.calls_per_s, asked.request_bytes);
  outcome.response_mbps = mbps_of(outcome.calls_per_s, asked.response_bytes);
  outcome.latency_ms = first.latency_ms;
  outcome.held_ms = first.held_ms;
  outcome.network_ms = first.network_ms;
  outcome.round_trips = first.round_trips;
  Verdict verdict = judge(asked, outcome);
  outcome.limit = verdict.limit;
  outcome.summary = std::move(verdict.sentence);
  return outcome;
}

std::string family_title(net::Family family) {
  return family == net::Family::Ipv4 ? "IPv4" : "IPv6";
}

std::optional<std::string> family_difference(const std::string& name, net::Family family,
                                             const documents::RpcOtherFamily& used,
                                             const documents::RpcOtherFamily& other) {
  const double mine = known(used.latency_ms).median;
  const double its = known(other.latency_ms).median;
  if (!used.latency_ms || !other.latency_ms || !math::are_unlike(mine, its)) {
    return std::nullopt;
  }
  return fmt::format(
      "{0} resolves to IPv4 and IPv6, and a call takes {1} over {2} and {3} over {4}; which one a "
      "job takes is its program's choice, torch RPC's is the name's first: give {0} the address "
      "{5} "
      "alone (a line '{5} {0}' in /etc/hosts)",
      name, math::format_ms(mine), family_title(family), math::format_ms(its),
      family_title(net::other(family)), mine < its ? used.address : other.address);
}

}  // namespace chokepoint::probe::rpc
