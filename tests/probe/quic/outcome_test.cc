#include "probe/quic/outcome.h"

#include <gmock/gmock.h>

namespace chokepoint::probe::quic {
namespace {

using testing::HasSubstr;

// A sender that waited for its congestion window, without queue or loss.
Outcome calm() {
  return {
      .figures = {.duration_s = 10,
                  .throughput_mbps = 800,
                  .bytes = 1'000'000'000,
                  .packets_sent = 700'000,
                  .max_cwnd_bytes = 100'000,
                  .rtt_ms =
                      math::Distribution{
                          .min = 1, .median = 1, .p99 = 1, .max = 1, .mean = 1, .count = 100},
                  .min_rtt_ms = 1,
                  .cpu = {.sender_percent = 25,
                          .receiver_percent = 20,
                          .sender_busy_percent = 30,
                          .receiver_busy_percent = 25},
                  .limited_by = Shares{.processor = 0.3, .congestion_window = 0.6, .pacing = 0.1}}};
}

Verdict judged(const Outcome& outcome, const Parameters& parameters = {}) {
  return judge(outcome, parameters, {.sender = "voyager", .receiver = "hubble"});
}

TEST(QuicVerdict, NothingArrived) { EXPECT_EQ(judged({}).limit, Limit::Nothing); }

TEST(QuicVerdict, TheCongestionWindow) {
  const Verdict verdict = judged(calm());
  EXPECT_EQ(verdict.limit, Limit::CongestionWindow);
  EXPECT_THAT(verdict.sentence, HasSubstr("cubic"));
}

TEST(QuicVerdict, ThePaceThatWasAskedFor) {
  EXPECT_EQ(judged(calm(), {.pace_bits_per_s = 810e6}).limit, Limit::Asked);
  EXPECT_NE(judged(calm(), {.pace_bits_per_s = 2e9}).limit, Limit::Asked) << "it was not reached";
}

TEST(QuicVerdict, TheBusierThreadIsNamedWithItsHost) {
  Outcome outcome = calm();
  outcome.figures.cpu.sender_busy_percent = 97;
  EXPECT_EQ(judged(outcome).limit, Limit::SenderCpu);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("voyager"));
  outcome.figures.cpu.receiver_busy_percent = 99;
  EXPECT_EQ(judged(outcome).limit, Limit::ReceiverCpu);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("hubble"));
}

TEST(QuicVerdict, ACoreThatHandlesPacketsIsFull) {
  Outcome outcome = calm();
  outcome.figures.cpu.receiver_softirq_percent = 99;
  outcome.receiver_softirq_core = 3;
  EXPECT_EQ(judged(outcome).limit, Limit::ReceiverCpu);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("core 3"));
}

TEST(QuicVerdict, WhatTheSenderWaitedForMost) {
  Outcome outcome = calm();
  outcome.figures.limited_by =
      Shares{.processor = 0.2, .flow_window = 0.5, .congestion_window = 0.3};
  EXPECT_EQ(judged(outcome).limit, Limit::FlowWindow);
  outcome.figures.limited_by =
      Shares{.processor = 0.2, .congestion_window = 0.3, .send_buffer = 0.5};
  EXPECT_EQ(judged(outcome).limit, Limit::SendBuffer);
  outcome.figures.limited_by = Shares{.processor = 0.87, .congestion_window = 0.13};
  EXPECT_EQ(judged(outcome).limit, Limit::SenderCpu) << "it waited for hardly anything";
}

TEST(QuicVerdict, AQueueAndLossOnThePath) {
  Outcome outcome = calm();
  outcome.figures.retransmits = 700;
  EXPECT_EQ(judged(outcome).limit, Limit::Loss);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("0.100 %"));
  outcome.figures.rtt_ms->median = 20;
  EXPECT_EQ(judged(outcome).limit, Limit::Queue) << "loss of a full queue";
}

TEST(QuicOutcome, JoinsTheReceiversBytesWithTheSendersState) {
  Trial trial{.parameters = {.direction = Direction::Receive, .interval = std::chrono::seconds(1)}};
  trial.server.sent = {.bytes = 3'000'000, .packets = 2000, .lost_packets = 12};
  trial.server.host.cpu_percent = 40;
  trial.server.intervals = {
      {.start_s = 0, .end_s = 1.01, .lost_packets = 5, .cwnd_bytes = 9, .rtt_ms = 2},
      {.start_s = 1.01, .end_s = 2, .lost_packets = 7}};
  trial.client.received = {
      .bytes = 3'000'000, .packets = 1990, .start_s = 0.5, .end_s = 2.5, .stream_bytes = {1, 2}};
  trial.client.intervals = {{.start_s = 0, .end_s = 1, .received_bytes = 1'000'000},
                            {.start_s = 1, .end_s = 2, .received_bytes = 2'000'000}};
  const documents::QuicFigures figures = outcome_of(trial, Direction::Receive).figures;
  EXPECT_DOUBLE_EQ(figures.throughput_mbps, 12);
  EXPECT_DOUBLE_EQ(figures.peak_mbps, 16);
  EXPECT_EQ(figures.lost, 10U);
  EXPECT_DOUBLE_EQ(*figures.loss_percent, 0.5);
  EXPECT_NEAR(*figures.cpu.sender_percent_per_gbps, 40 / 0.012, 1e-6);
  ASSERT_EQ(figures.intervals.size(), 2U);
  EXPECT_EQ(figures.intervals[0].retransmits, 5U);
  EXPECT_EQ(figures.intervals[0].cwnd_bytes, 9U);
  EXPECT_EQ(figures.intervals[1].retransmits, 7U);
  ASSERT_EQ(figures.per_stream.size(), 2U);
}

TEST(QuicVerdict, MarksOfThePath) {
  Outcome outcome = calm();
  outcome.figures.ecn.received_ce = 7'000;
  EXPECT_EQ(judged(outcome).limit, Limit::Marks);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("7000 packets (ECN), 1.000 %"));
  outcome.figures.retransmits = 20'000;
  EXPECT_EQ(judged(outcome).limit, Limit::Loss) << "which is worse";
}

TEST(QuicVerdict, WhatOnlyAnotherProgramKnowsIsNotGuessed) {
  Outcome outcome = calm();
  outcome.figures.limited_by.reset();
  outcome.figures.cpu.sender_busy_percent.reset();
  EXPECT_EQ(judged(outcome).limit, Limit::Nothing);
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("voyager"));
  outcome.figures.cpu.receiver_busy_percent = 97;
  EXPECT_EQ(judged(outcome).limit, Limit::ReceiverCpu);
  outcome = calm();
  outcome.figures.ecn = {};
  outcome.figures.cpu.receiver_busy_percent.reset();
  EXPECT_EQ(judged(outcome).limit, Limit::CongestionWindow) << "a sender knows nearly all";
}

}  // namespace
}  // namespace chokepoint::probe::quic
