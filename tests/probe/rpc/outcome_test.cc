// What is said of calls of known times.
#include "probe/rpc/outcome.h"

#include <gmock/gmock.h>

namespace chokepoint::probe::rpc {
namespace {

using documents::ProbeRpc;
using testing::HasSubstr;

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

TEST(RpcVerdict, NoAnswer) {
  Hop none;
  EXPECT_EQ(judged(trial(none)).limit, Limit::Nothing);
  EXPECT_EQ(outcome_of({}, "a").limit, Limit::Nothing);
}

TEST(RpcVerdict, ARoundTripWithHowManyMoreCallsWouldHelp) {
  const ProbeRpc outcome = judged(trial(hop(40.3)));
  EXPECT_EQ(outcome.limit, Limit::RoundTrip);
  EXPECT_THAT(outcome.summary, HasSubstr("a call costs one of 40.0 ms"));
  EXPECT_THAT(outcome.summary, HasSubstr("8 outstanding calls would"));
  Trial paused = trial(hop(40.3));
  paused.parameters.pause = std::chrono::milliseconds(100);
  EXPECT_THAT(judged(paused).summary, HasSubstr("pauses for 100 ms"));
}

TEST(RpcVerdict, AProcessorBeforeAnythingElse) {
  Trial full = trial(hop(40.3));
  full.client.busy_percent = 95;
  EXPECT_EQ(judged(full).limit, Limit::ClientCpu);
  full.client.busy_percent = 10;
  full.hops[0].worker.host.softirq_percent = 97;
  EXPECT_EQ(judged(full).limit, Limit::WorkerCpu);
  EXPECT_THAT(judged(full).summary, HasSubstr("of b"));
}

TEST(RpcVerdict, AWorkerThatHoldsCalls) {
  const ProbeRpc outcome = judged(trial(hop(140, 100)));
  EXPECT_EQ(outcome.limit, Limit::Worker);
  EXPECT_THAT(outcome.summary, HasSubstr("b, which held a call for 100 ms of its 140 ms"));
}

TEST(RpcVerdict, FewCallsThatTookVeryLong) {
  Hop slow = hop(41);
  slow.latency_ms = spread(41, 100);
  EXPECT_EQ(judged(trial(slow)).limit, Limit::Outliers);
  slow.latency_ms.values.max = 6000;
  slow.requests.retransmits = 2;
  EXPECT_EQ(judged(trial(slow)).limit, Limit::Outliers) << "two cannot have cost so much";
  slow.requests.retransmits = 12;
  const ProbeRpc outcome = judged(trial(slow));
  EXPECT_EQ(outcome.limit, Limit::Loss);
  EXPECT_THAT(outcome.summary, HasSubstr("12 segments"));
}

TEST(RpcVerdict, NagleOnlyWhereItWasAskedFor) {
  Trial delayed = trial(hop(81));
  EXPECT_NE(judged(delayed).limit, Limit::Nagle);
  delayed.parameters.no_delay = false;
  EXPECT_EQ(judged(delayed).limit, Limit::Nagle);
}

Trial large() {
  Trial made = trial(hop(240));
  made.parameters.request_bytes = 300'000;
  made.hops[0].requests.window_bytes = {.median = 14480, .count = 1000};
  return made;
}

TEST(RpcVerdict, AWindowSmallerThanTheMessage) {
  Trial made = large();
  const ProbeRpc outcome = judged(made);
  EXPECT_EQ(outcome.limit, Limit::Window);
  EXPECT_THAT(outcome.summary, HasSubstr("6.0 round trips of 40.0 ms"));
  EXPECT_THAT(outcome.summary, testing::Not(HasSubstr("idle")));
  made.parameters.pause = std::chrono::seconds(1);
  EXPECT_THAT(judged(made).summary, HasSubstr("tcp_slow_start_after_idle=0 at a"));
  made.hops[0].requests.window_bytes.median = 1e6;
  EXPECT_EQ(judged(made).limit, Limit::Path) << "it fits: the sending itself takes long";
}

TEST(RpcVerdict, AnAnswersWindowIsTheWorkers) {
  Trial made = large();
  std::swap(made.parameters.request_bytes, made.parameters.response_bytes);
  std::swap(made.hops[0].requests, made.hops[0].worker.answers);
  made.parameters.pause = std::chrono::seconds(1);
  const ProbeRpc outcome = judged(made);
  EXPECT_EQ(outcome.limit, Limit::Window);
  EXPECT_THAT(outcome.summary, HasSubstr("an answer of 300"));
  EXPECT_THAT(outcome.summary, HasSubstr("tcp_slow_start_after_idle=0 at b"));
}

TEST(RpcVerdict, SocketBuffersAndAFullPath) {
  Trial made = large();
  made.hops[0].requests.receive_window_s = 4;
  EXPECT_EQ(judged(made).limit, Limit::ReceiveWindow);
  EXPECT_THAT(judged(made).summary, HasSubstr("of b for 50 %"));
  made = large();
  made.hops[0].requests.send_buffer_s = 4;
  EXPECT_EQ(judged(made).limit, Limit::SendBuffer);
  EXPECT_THAT(judged(made).summary, HasSubstr("of a for 50 %"));
  made = large();
  made.hops[0].requests.rtt_ms.median = 90;
  EXPECT_EQ(judged(made).limit, Limit::Path);
  EXPECT_THAT(judged(made).summary, HasSubstr("90.0 ms of round trip out of 40.0 ms"));
}

TEST(RpcVerdict, HostsWhereTheWayIsShort) {
  Hop near = hop(0.1, 0.01);
  near.requests.min_rtt_ms = near.worker.answers.min_rtt_ms = 0.02;
  EXPECT_EQ(judged(trial(near)).limit, Limit::Hosts);
}

TEST(RpcVerdict, TheWayThatTakesMostOfARound) {
  Hop first = hop(55, 44);
  first.requests.min_rtt_ms = first.worker.answers.min_rtt_ms = 10;
  Trial chain = trial(first);
  Hop second = hop(42);
  second.host = "c";
  chain.hops.push_back(second);
  const ProbeRpc outcome = judged(chain);
  EXPECT_EQ(outcome.limit, Limit::RoundTrip);
  EXPECT_THAT(outcome.summary, HasSubstr("from b to c"));
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
  EXPECT_THAT(*difference, HasSubstr("a call takes 80.0 ms over IPv4 and 40.0 ms over IPv6"));
  EXPECT_THAT(*difference, HasSubstr("'fd00::2 voyager'"));
  EXPECT_FALSE(told(family("fd00::2", 70)));
  EXPECT_FALSE(told({.address = "fd00::2"})) << "not measured";
}

}  // namespace
}  // namespace chokepoint::probe::rpc
