#include "probe/tcp/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::probe::tcp {
namespace {

using documents::TcpFigures;
using testing::HasSubstr;

StreamMeasure sender(int index, std::uint64_t bytes) {
  StreamMeasure stream{.role = Role::Send, .index = index, .total_bytes = bytes, .bytes = bytes};
  stream.end_s = 10;
  stream.retransmits = 5;
  stream.max_cwnd_bytes = 1000;
  stream.rtt_ms = {.min = 16.0, .median = 17, .p99 = 18, .max = 18, .mean = 17, .count = 3};
  stream.min_rtt_ms = 15.0 + index;
  stream.mss_bytes = 1448;
  stream.congestion = "cubic";
  stream.chrono = net::TcpChrono{.busy_us = 9'000'000, .receive_window_us = 4'500'000};
  stream.chrono_us = 10'000'000;
  return stream;
}

StreamMeasure receiver(int index, std::uint64_t bytes, double start_s, double end_s) {
  StreamMeasure stream{.role = Role::Receive, .index = index, .total_bytes = bytes, .bytes = bytes};
  stream.start_s = start_s;
  stream.end_s = end_s;
  return stream;
}

Trial two_streams() {
  Trial trial;
  trial.client.streams = {sender(0, 1000), sender(1, 3000)};
  trial.server.streams = {receiver(0, 1000, 0.015, 10.0), receiver(1, 3000, 0.020, 10.015)};
  return trial;
}

TcpFigures figures_of(const Trial& trial) { return outcome_of(trial, Direction::Send).figures; }

TEST(Outcome, ThroughputIsTheReceiversBytesOverItsTime) {
  const TcpFigures figures = figures_of(two_streams());
  EXPECT_EQ(figures.bytes, 4000U);
  EXPECT_DOUBLE_EQ(figures.duration_s, 10.0);
  EXPECT_DOUBLE_EQ(figures.throughput_mbps, 4000 * 8 / 10.0 / 1e6);
}

TEST(Outcome, TheSendersKernelKnowsTheConnection) {
  const TcpFigures figures = figures_of(two_streams());
  EXPECT_EQ(figures.retransmits, 10U);
  EXPECT_EQ(figures.max_cwnd_bytes, 2000U);
  EXPECT_EQ(figures.rtt_ms->min, 15.0) << "the kernel's, lower than every sample";
  EXPECT_EQ(figures.congestion_control, "cubic");
}

TEST(Outcome, SharesSumToOne) {
  const TcpFigures figures = figures_of(two_streams());
  ASSERT_TRUE(figures.limited_by);
  const Shares& shares = *figures.limited_by;
  EXPECT_DOUBLE_EQ(shares.application, 0.1);
  EXPECT_DOUBLE_EQ(shares.receive_window, 0.45);
  EXPECT_DOUBLE_EQ(shares.network, 0.45);
  EXPECT_DOUBLE_EQ(shares.application + shares.receive_window + shares.send_buffer + shares.network,
                   1);
}

TEST(Outcome, ASmallSendBufferThatTheKernelBooksUnderTheNetwork) {
  Trial trial = two_streams();
  for (StreamMeasure& stream : trial.client.streams) {
    stream.chrono = net::TcpChrono{.busy_us = 10'000'000};
    stream.starved_share = 0.9;
  }
  const Shares shares = figures_of(trial).limited_by.value();
  EXPECT_DOUBLE_EQ(shares.send_buffer, 0.9);
  EXPECT_NEAR(shares.network, 0.1, 1e-9);
}

TEST(Outcome, WhatTheKernelDoesNotTellIsUnknown) {
  Trial trial = two_streams();
  trial.client.streams[1].chrono.reset();
  EXPECT_FALSE(figures_of(trial).limited_by);
  trial.client.streams[0].retransmits.reset();
  trial.client.streams[1].retransmits.reset();
  EXPECT_EQ(figures_of(trial).retransmits, std::nullopt);
}

TEST(Outcome, AnIntervalJoinsBytesOfOneEndWithTheWindowOfTheOther) {
  Trial trial = two_streams();
  trial.server.intervals = {{.role = Role::Receive, .start_s = 0, .end_s = 1.0, .bytes = 1000},
                            {.role = Role::Receive, .start_s = 1.0, .end_s = 2.0, .bytes = 2000},
                            {.role = Role::Receive, .start_s = 2.0, .end_s = 2.1, .bytes = 900}};
  trial.client.intervals = {
      {.role = Role::Send, .start_s = 0, .end_s = 1.02, .bytes = 1, .retransmits = 1},
      {.role = Role::Send, .start_s = 1.02, .end_s = 2.0, .bytes = 1, .retransmits = 4}};
  const TcpFigures figures = figures_of(trial);
  ASSERT_EQ(figures.intervals.size(), 3U);
  EXPECT_EQ(figures.intervals[1].retransmits, 4U);
  EXPECT_EQ(figures.intervals[2].retransmits, std::nullopt);
  EXPECT_DOUBLE_EQ(figures.peak_mbps, 2000 * 8 / 1e6) << "a tenth of an interval is no peak";
}

TEST(Outcome, OmittedIntervalsAreNotShown) {
  Trial trial = two_streams();
  trial.parameters.omit = std::chrono::seconds(1);
  trial.server.intervals = {{.role = Role::Receive, .start_s = 0, .end_s = 1.0, .bytes = 1000},
                            {.role = Role::Receive, .start_s = 1.0, .end_s = 2.0, .bytes = 2000}};
  EXPECT_EQ(figures_of(trial).intervals.size(), 1U);
}

TEST(Outcome, OfNothingIsNothing) {
  const TcpFigures figures = outcome_of(Trial{}, Direction::Receive).figures;
  EXPECT_EQ(figures.bytes, 0U);
  EXPECT_EQ(figures.throughput_mbps, 0);
  EXPECT_FALSE(figures.limited_by);
}

// 9.4 Gb/s for ten seconds on a quiet LAN, with nothing wrong.
Outcome healthy() {
  return {.figures = {.duration_s = 10,
                      .congestion_control = "cubic",
                      .mss_bytes = 1448,
                      .throughput_mbps = 9400,
                      .bytes = 11'750'000'000,
                      .retransmits = 0,
                      .max_cwnd_bytes = 3'000'000,
                      .rtt_ms = math::Distribution{.min = 0.1,
                                                   .median = 0.12,
                                                   .p99 = 0.3,
                                                   .max = 0.5,
                                                   .mean = 0.13,
                                                   .count = 500},
                      .cpu = {.sender_percent = 40,
                              .receiver_percent = 40,
                              .sender_softirq_percent = 10,
                              .receiver_softirq_percent = 30,
                              .sender_busiest_core_percent = 50,
                              .receiver_busiest_core_percent = 60},
                      .limited_by = Shares{.network = 1},
                      .per_stream = {{.sender_cpu_percent = 40, .receiver_cpu_percent = 40}}},
          .max_send_window_bytes = 6'000'000,
          .sender_softirq_core = 0,
          .receiver_softirq_core = 1};
}

Verdict judged(const Outcome& outcome, const Parameters& parameters = {}) {
  return judge(outcome, parameters, {.sender = "voyager", .receiver = "hubble"});
}

TEST(Verdict, AQuietPathIsItselfTheLimit) { EXPECT_EQ(judged(healthy()).limit, Limit::Path); }

TEST(Verdict, NothingArrived) { EXPECT_EQ(judged(Outcome{}).limit, Limit::Nothing); }

TEST(Verdict, ThePaceThatWasAskedForIsNoFinding) {
  EXPECT_EQ(judged(healthy(), {.pace_bits_per_s = 9.5e9}).limit, Limit::Asked);
  EXPECT_EQ(judged(healthy(), {.pace_bits_per_s = 20e9}).limit, Limit::Path);
}

TEST(Verdict, AReceiverWhoseCoreIsFullIsNamed) {
  Outcome outcome = healthy();
  outcome.figures.cpu.receiver_softirq_percent = 99;
  outcome.figures.cpu.receiver_busiest_core_percent = 100;
  const Verdict verdict = judged(outcome);
  EXPECT_EQ(verdict.limit, Limit::ReceiverCpu);
  EXPECT_THAT(verdict.sentence, HasSubstr("the CPU of hubble"));
}

TEST(Verdict, ASenderWhoseThreadAndPacketsFillACoreIsNamed) {
  Outcome outcome = healthy();
  outcome.figures.per_stream[0].sender_cpu_percent = 75;
  outcome.figures.cpu.sender_softirq_percent = 25;
  outcome.figures.cpu.sender_busiest_core_percent = 100;
  EXPECT_EQ(judged(outcome).limit, Limit::SenderCpu);
}

TEST(Verdict, ASmallReceiveWindowOverADistanceComesWithItsCure) {
  Outcome outcome = healthy();
  outcome.figures.limited_by = Shares{.receive_window = 0.9, .network = 0.1};
  outcome.figures.rtt_ms->median = 15.1;
  outcome.figures.rtt_ms->min = 15.0;
  const Verdict verdict = judged(outcome);
  EXPECT_EQ(verdict.limit, Limit::ReceiveWindow);
  EXPECT_THAT(verdict.sentence, HasSubstr("tcp_rmem on hubble"));
  EXPECT_THAT(judged(outcome, {.window = 65536}).sentence, HasSubstr("leave --window out"));
}

TEST(Verdict, ASmallSendBuffer) {
  Outcome outcome = healthy();
  outcome.figures.limited_by = Shares{.send_buffer = 0.9, .network = 0.1};
  EXPECT_THAT(judged(outcome).sentence, HasSubstr("tcp_wmem on voyager"));
}

TEST(Verdict, ASenderWithNothingToSend) {
  Outcome outcome = healthy();
  outcome.figures.limited_by = Shares{.application = 0.8, .network = 0.2};
  EXPECT_EQ(judged(outcome).limit, Limit::Application);
}

TEST(Verdict, LossOnAWideAreaPath) {
  Outcome outcome = healthy();
  outcome.figures.throughput_mbps = 600;
  outcome.figures.bytes = 750'000'000;
  outcome.figures.retransmits = 52;  // 0.01 %
  outcome.figures.rtt_ms->median = 15.1;
  outcome.figures.rtt_ms->min = 15.0;
  const Verdict verdict = judged(outcome);
  EXPECT_EQ(verdict.limit, Limit::Loss);
  EXPECT_THAT(verdict.sentence, HasSubstr("52 retransmissions, 0.010 %"));
}

TEST(Verdict, AFullPathShowsInItsQueueEvenWithLoss) {
  Outcome outcome = healthy();
  outcome.figures.throughput_mbps = 95;
  outcome.figures.bytes = 118'000'000;
  outcome.figures.retransmits = 300;
  outcome.figures.rtt_ms->median = 45;
  outcome.figures.rtt_ms->min = 0.2;
  EXPECT_EQ(judged(outcome).limit, Limit::Queue);
}

TEST(Verdict, ATestThatEndedWhileStillGainingSpeed) {
  Outcome outcome = healthy();
  outcome.figures.intervals = {{.start_s = 0, .end_s = 1, .throughput_mbps = 500},
                               {.start_s = 1, .end_s = 2, .throughput_mbps = 2000}};
  EXPECT_EQ(judged(outcome).limit, Limit::SlowStart);
}

TEST(Verdict, TheRestThatDrainsIsNoGainOfSpeed) {
  Outcome outcome = healthy();
  outcome.figures.intervals = {{.start_s = 0, .end_s = 1, .throughput_mbps = 9400},
                               {.start_s = 1, .end_s = 2, .throughput_mbps = 9400},
                               {.start_s = 2, .end_s = 2.001, .throughput_mbps = 20000}};
  EXPECT_EQ(judged(outcome).limit, Limit::Path);
}

}  // namespace
}  // namespace chokepoint::probe::tcp
