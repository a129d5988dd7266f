#include "probe/udp/outcome.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/fakes/golden.h"

namespace chokepoint::probe::udp {
namespace {

SentFlow sent(std::uint64_t packets) {
  return {.packets = packets, .bytes = packets * 1000, .duration_s = 2};
}

ReceivedFlow received(std::uint64_t packets, std::uint64_t lost) {
  return {.counts = {.received = packets},
          .bytes = packets * 1000,
          .lost = lost,
          .bytes_per_s = static_cast<double>(packets) * 500,
          .jitter_ms = 0.5,
          .intervals = {{.packets = packets / 2, .bytes = packets * 500},
                        {.packets = packets / 2, .bytes = packets * 500, .missing = lost}}};
}

const RunPlan kPlan{.run = 1, .packet_bytes = 1000, .bits_per_s = 8e6};

RunResult two_streams() {
  return {.own = {.sent = {sent(1000), sent(1000)}, .received = {received(10, 0)}},
          .peer = {.sent = {sent(10)}, .received = {received(1000, 0), received(900, 100)}}};
}

TEST(Outcome, JoinsWhatBothEndsSaw) {
  const Outcome outcome = outcome_of(two_streams(), kPlan, Direction::Send);
  EXPECT_EQ(outcome.figures.packets_sent, 2000U);
  EXPECT_EQ(outcome.figures.packets_received, 1900U);
  EXPECT_EQ(outcome.figures.lost, 100U);
  EXPECT_DOUBLE_EQ(outcome.loss(), 0.05);
  EXPECT_DOUBLE_EQ(outcome.figures.offered_mbps, 8);
  EXPECT_DOUBLE_EQ(outcome.figures.throughput_mbps, 7.6);
  EXPECT_DOUBLE_EQ(*outcome.figures.jitter_ms, 0.5);
  ASSERT_EQ(outcome.figures.intervals.size(), 2U);
  EXPECT_EQ(outcome.figures.intervals[1].lost, 100U);
  EXPECT_DOUBLE_EQ(outcome.figures.intervals[1].throughput_mbps, 7.6);
  EXPECT_EQ(outcome_of(two_streams(), kPlan, Direction::Receive).figures.packets_sent, 10U);
}

TEST(Outcome, ItsBurstIsTheLargestOfAnyStream) {
  RunResult result = two_streams();
  result.own.sent[0].burst = Burst{.batch_packets = 2, .bucket_packets = 2.5};
  result.own.sent[1].burst = Burst{.batch_packets = 1, .hurried_ns = 3'000'000};
  const documents::UdpBurst burst =
      outcome_of(result, kPlan, Direction::Send).figures.burst.value();
  EXPECT_EQ(burst.batch_bytes, 2000U);
  EXPECT_DOUBLE_EQ(burst.bucket_bytes, 2500);
  EXPECT_DOUBLE_EQ(burst.hurried_ms, 3);
}

TEST(Outcome, OfNothingIsNothing) {
  const Outcome outcome = outcome_of({}, kPlan, Direction::Send);
  EXPECT_EQ(outcome.loss(), 0);
  EXPECT_FALSE(outcome.figures.jitter_ms);
  EXPECT_EQ(judge(outcome, {}).limit, Limit::Nothing);
}

Verdict judged(Outcome outcome, RunFacts how = {}) {
  how.sender = "left";
  how.receiver = "right";
  return judge(outcome, how);
}

Outcome lossy(std::uint64_t lost) {
  return {.figures = {.throughput_mbps = 95,
                      .offered_mbps = 100,
                      .packets_sent = 1000,
                      .packets_received = 1000 - lost,
                      .lost = lost,
                      .loss_percent = static_cast<double>(lost) / 10}};
}

struct Case {
  const char* what;
  Limit limit;
  std::function<void(documents::UdpFigures&)> change;
  RunFacts how = {};
};

// What differs from a run that lost nothing, of 100 Mb/s and 1000 packets.
std::vector<Case> cases() {
  using F = documents::UdpFigures;
  const auto loses = [](F& each, std::uint64_t lost) { each = lossy(lost).figures; };
  const Trial full{.bits_per_s = 110e6,
                   .offered_bits_per_s = 110e6,
                   .delivered_bits_per_s = 100e6,
                   .loss = 0.09};
  const auto searched = [&](const std::function<void(Trial&)>& change) {
    Trial obstacle = full;
    change(obstacle);
    return RunFacts{.asked_bits_per_s = 100e6, .searched = true, .obstacle = obstacle};
  };
  return {{"5 % lost", Limit::Path, [=](F& each) { loses(each, 50); }},
          {"5 % lost, most by the receiving socket", Limit::ReceiverQueue,
           [=](F& each) {
             loses(each, 50);
             each.lost_in_receiver_queue = 40;
           }},
          {"5 % lost, most by the sender's interface", Limit::SenderQueue,
           [=](F& each) {
             loses(each, 50);
             each.dropped_by_sender_queue = 45;
           }},
          {"unpaced", Limit::Sender, [](F& each) { each.skipped_by_sender = 7; }},
          {"all that was asked for",
           Limit::Asked,
           [](F& each) { each.skipped_by_sender = 7; },
           {.asked_bits_per_s = 100e6}},
          {"half of what was asked for",
           Limit::Sender,
           [](F& each) { each.skipped_by_sender = 7; },
           {.asked_bits_per_s = 200e6}},
          {"a search that loss ended", Limit::Path, [](F&) {}, searched([](Trial&) {})},
          {"a search that the receiving socket ended", Limit::ReceiverQueue, [](F&) {},
           searched([](Trial& each) { each.loss_in_queue = 0.09; })},
          {"a search that a queue ended", Limit::Path, [](F&) {},
           searched([](Trial& each) { each.loss = 0; })},
          {"a search that the sender ended", Limit::Sender, [](F&) {}, searched([](Trial& each) {
             each.loss = 0;
             each.offered_bits_per_s = 100e6;
           })},
          {"a search that nothing ended",
           Limit::Asked,
           [](F&) {},
           {.asked_bits_per_s = 100e6, .searched = true}}};
}

TEST(Verdict, PictureOfEachLimit) {
  fakes::Sentences sentences;
  for (const Case& each : cases()) {
    Outcome outcome = lossy(0);
    each.change(outcome.figures);
    const Verdict verdict = judged(outcome, each.how);
    EXPECT_EQ(verdict.limit, each.limit) << each.what;
    sentences.add(each.what, verdict.sentence);
  }
  EXPECT_GOLDEN("sentences_udp_limits", sentences.text());
}

TEST(UdpParameters, TravelUnchanged) {
  const control::Json sent = body_of(Parameters{.direction = Direction::Both, .bits_per_s = 1e9});
  EXPECT_EQ(body_of(*parameters_in(sent)), sent);
}

TEST(RunPlan, TravelsWithTheClockTurned) {
  const RunPlan plan{.run = 3,
                     .packet_bytes = 1400,
                     .time = std::chrono::seconds(1),
                     .peer_clock = ClockOffset{.offset_ns = -4, .uncertainty_ns = 5}};
  const Result<RunPlan> read = run_plan_in(body_for_peer(plan));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->peer_clock->offset_ns, 4);
  EXPECT_EQ(body_for_peer(*run_plan_in(body_for_peer(*read))), body_for_peer(plan));
}

TEST(SideReport, GoesThroughAMessageUnchanged) {
  SideReport report = two_streams().own;
  report.sent[0].burst = Burst{.batch_packets = 3, .bucket_packets = 4.5, .hurried_ns = 6};
  report.sent[1].error = "no buffer";
  report.delay_ms = {.min = -0.5, .median = 1, .p99 = 2, .max = 3, .mean = 1.5, .count = 9};
  report.room_bytes = 4096;
  const Result<SideReport> read = side_report_in(body_of(report));
  ASSERT_TRUE(read);
  EXPECT_EQ(body_of(*read), body_of(report));
  control::Json broken = body_of(report);
  broken["received"][0]["lost"] = -1;
  EXPECT_FALSE(side_report_in(broken));
  broken = body_of(report);
  broken["sent"] = 7;
  EXPECT_FALSE(side_report_in(broken));
}

}  // namespace
}  // namespace chokepoint::probe::udp
