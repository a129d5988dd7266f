#include "probe/udp/outcome.h"

#include <gmock/gmock.h>

namespace chokepoint::probe::udp {
namespace {

using testing::HasSubstr;

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

TEST(Verdict, NamesWhoLost) {
  Outcome outcome = lossy(50);
  EXPECT_EQ(judged(outcome).limit, Limit::Path);
  outcome.figures.lost_in_receiver_queue = 40;
  EXPECT_EQ(judged(outcome).limit, Limit::ReceiverQueue);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("right's socket queue dropped 4.00 %"));
  outcome.figures.lost_in_receiver_queue = 0;
  outcome.figures.dropped_by_sender_queue = 45;
  EXPECT_EQ(judged(outcome).limit, Limit::SenderQueue);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("left"));
}

TEST(Verdict, NamesASenderThatFellShort) {
  Outcome outcome = lossy(0);
  outcome.figures.skipped_by_sender = 7;
  const Verdict verdict = judged(outcome, {.asked_bits_per_s = 200e6});
  EXPECT_EQ(verdict.limit, Limit::Sender);
  EXPECT_THAT(verdict.sentence, HasSubstr("7 packets"));
  EXPECT_EQ(judged(outcome, {.asked_bits_per_s = 100e6}).limit, Limit::Asked);
  EXPECT_EQ(judged(outcome).limit, Limit::Sender) << "unpaced: as fast as it goes";
}

TEST(Verdict, OfASearchSaysWhatEndedIt) {
  const Trial full{.bits_per_s = 110e6,
                   .offered_bits_per_s = 110e6,
                   .delivered_bits_per_s = 100e6,
                   .loss = 0.09};
  RunFacts how{.asked_bits_per_s = 100e6, .searched = true, .obstacle = full};
  EXPECT_EQ(judged(lossy(0), how).limit, Limit::Path);
  EXPECT_THAT(judged(lossy(0), how).sentence, HasSubstr("loss starts at 110 Mb/s"));
  how.obstacle->loss_in_queue = 0.09;
  EXPECT_EQ(judged(lossy(0), how).limit, Limit::ReceiverQueue);
  how.obstacle->loss = 0;
  EXPECT_THAT(judged(lossy(0), how).sentence, HasSubstr("queue filled"));
  how.obstacle->offered_bits_per_s = 100e6;
  EXPECT_EQ(judged(lossy(0), how).limit, Limit::Sender);
  how.obstacle.reset();
  EXPECT_EQ(judged(lossy(0), how).limit, Limit::Asked);
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
