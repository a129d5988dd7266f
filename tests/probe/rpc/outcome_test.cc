// What is said of calls of known times.
#include "probe/rpc/outcome.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/fakes/golden.h"

namespace chokepoint::probe::rpc {
namespace {

using documents::ProbeRpc;

Spread spread(double median, double mean, std::uint64_t count = 1000) {
  return {
      .values =
          {.min = median, .median = median, .p99 = mean, .max = mean, .mean = mean, .count = count},
      .p90 = median,
      .p999 = mean};
}

// One hop of a round trip of 40 ms.
Hop hop(double latency_ms, double held_ms = 0.01) {
  Hop made{.host = "b", .address = "10.0.0.2", .calls = 1000};
  made.latency_ms = spread(latency_ms, latency_ms);
  made.requests = {.rtt_ms = {.median = 40.1, .count = 100},
                   .min_rtt_ms = 40,
                   .max_window_bytes = 14480,
                   .busy_s = 8};
  made.worker = {.calls = 1000, .held_ms = spread(held_ms, held_ms)};
  made.worker.answers = made.requests;
  return made;
}

Trial trial(const Hop& first) {
  return {.parameters = {.request_bytes = 1000, .response_bytes = 500},
          .duration_s = 10,
          .hops = {first}};
}

ProbeRpc judged(const Trial& of) { return outcome_of(of, "a"); }

TEST(RpcOutcome, CountsCallsAndPayloadEachWay) {
  const ProbeRpc outcome = judged(trial(hop(40)));
  EXPECT_EQ(outcome.calls, 1000U);
  EXPECT_DOUBLE_EQ(outcome.calls_per_s, 100);
  EXPECT_DOUBLE_EQ(outcome.request_mbps, 0.8);
  EXPECT_DOUBLE_EQ(outcome.response_mbps, 0.4);
}

TEST(RpcOutcome, TheMeanOfARoundIsTheSumOfItsParts) {
  Trial chain = trial(hop(100, 70));
  chain.hops.push_back(hop(60, 15));
  chain.hops.push_back(hop(10, 4));
  const ProbeRpc outcome = judged(chain);
  double sum = 0;
  for (const documents::RpcHop& each : outcome.hops) {
    sum += each.network_ms + each.own_ms;
  }
  EXPECT_DOUBLE_EQ(sum, 100);
  EXPECT_DOUBLE_EQ(outcome.hops[0].network_ms, 30);
  EXPECT_DOUBLE_EQ(outcome.hops[0].own_ms, 10);
  EXPECT_DOUBLE_EQ(outcome.hops[1].network_ms, 45);
  EXPECT_DOUBLE_EQ(*outcome.hops[1].network_percent, 45);
  EXPECT_EQ(outcome.hops[1].caller, "b");
}

// A request of 300 KB that takes six round trips.
Trial large() {
  Trial made = trial(hop(240));
  made.parameters.request_bytes = 300'000;
  made.hops[0].requests.window_bytes = {.median = 14480, .count = 1000};
  return made;
}

Trial large_answer() {
  Trial made = large();
  std::swap(made.parameters.request_bytes, made.parameters.response_bytes);
  std::swap(made.hops[0].requests, made.hops[0].worker.answers);
  return made;
}

Trial with(Trial made, const std::function<void(Trial&)>& change) {
  change(made);
  return made;
}

Trial chain_by_another_worker() {
  Hop first = hop(55, 44);
  first.requests.min_rtt_ms = first.worker.answers.min_rtt_ms = 10;
  Trial chain = trial(first);
  Hop second = hop(42);
  second.host = "c";
  chain.hops.push_back(second);
  return chain;
}

// Calls that mostly take 41 ms, and some far longer.
Trial with_outliers(std::uint64_t retransmits) {
  Hop slow = hop(41);
  slow.latency_ms = spread(41, 100);
  slow.latency_ms.values.max = 6000;
  slow.requests.retransmits = retransmits;
  return trial(slow);
}

struct Case {
  const char* what;
  Limit limit;
  Trial of;
};

std::vector<Case> cases() {
  using std::chrono::seconds;
  const Trial usual = trial(hop(40.3));
  const Trial near = with(trial(hop(0.1, 0.01)), [](Trial& each) {
    each.hops[0].requests.min_rtt_ms = each.hops[0].worker.answers.min_rtt_ms = 0.02;
  });
  return {
      {"no answer", Limit::Nothing, trial(Hop{})},
      {"a call at a time", Limit::RoundTrip, usual},
      {"a call at a time, with pauses", Limit::RoundTrip,
       with(usual, [](Trial& each) { each.parameters.pause = std::chrono::milliseconds(100); })},
      {"the caller's processor is full", Limit::ClientCpu,
       with(usual, [](Trial& each) { each.client.busy_percent = 95; })},
      {"the worker's core is full of packets", Limit::WorkerCpu,
       with(usual, [](Trial& each) { each.hops[0].worker.host.softirq_percent = 97; })},
      {"a worker that holds calls", Limit::Worker, trial(hop(140, 100))},
      {"few calls that took very long", Limit::Outliers, with_outliers(0)},
      {"the same, and two segments lost", Limit::Outliers, with_outliers(2)},
      {"the same, and twelve segments lost", Limit::Loss, with_outliers(12)},
      {"a small message waits for an acknowledgement", Limit::Nagle,
       with(trial(hop(81)), [](Trial& each) { each.parameters.no_delay = false; })},
      {"a request larger than the window", Limit::Window, large()},
      {"a request larger than the window, after a pause", Limit::Window,
       with(large(), [](Trial& each) { each.parameters.pause = seconds(1); })},
      {"an answer larger than the window, after a pause", Limit::Window,
       with(large_answer(), [](Trial& each) { each.parameters.pause = seconds(1); })},
      {"a request that fits into the window", Limit::Path,
       with(large(), [](Trial& each) { each.hops[0].requests.window_bytes.median = 1e6; })},
      {"a small receive window", Limit::ReceiveWindow,
       with(large(), [](Trial& each) { each.hops[0].requests.receive_window_s = 4; })},
      {"a small send buffer", Limit::SendBuffer,
       with(large(), [](Trial& each) { each.hops[0].requests.send_buffer_s = 4; })},
      {"a full path", Limit::Path,
       with(large(), [](Trial& each) { each.hops[0].requests.rtt_ms.median = 90; })},
      {"a short way", Limit::Hosts, near},
      {"a chain whose second way is the longer", Limit::RoundTrip, chain_by_another_worker()}};
}

TEST(RpcVerdict, PictureOfEachLimit) {
  fakes::Sentences sentences;
  for (const Case& each : cases()) {
    const ProbeRpc outcome = judged(each.of);
    EXPECT_EQ(outcome.limit, each.limit) << each.what;
    sentences.add(each.what, outcome.summary);
  }
  EXPECT_GOLDEN("sentences_rpc_limits", sentences.text());
}

TEST(RpcVerdict, WithoutAHopThereIsNone) { EXPECT_EQ(outcome_of({}, "a").limit, Limit::Nothing); }

TEST(RpcVerdict, NagleOnlyWhereItWasAskedFor) {
  EXPECT_NE(judged(trial(hop(81))).limit, Limit::Nagle);
}

TEST(RpcFamilies, DifferOnlyWhereItIsMoreThanChance) {
  const auto family = [](const char* address, double median_ms) {
    return documents::RpcOtherFamily{.address = address,
                                     .latency_ms = times_of(spread(median_ms, median_ms))};
  };
  const auto told = [&](const documents::RpcOtherFamily& six) {
    return family_difference("voyager", net::Family::Ipv4, family("10.0.0.2", 80), six);
  };
  const std::optional<std::string> difference = told(family("fd00::2", 40));
  ASSERT_TRUE(difference);
  EXPECT_NE(difference->find("'fd00::2 voyager'"), std::string::npos);
  EXPECT_FALSE(told(family("fd00::2", 70)));
  EXPECT_FALSE(told({.address = "fd00::2"})) << "not measured";
}

}  // namespace
}  // namespace chokepoint::probe::rpc
