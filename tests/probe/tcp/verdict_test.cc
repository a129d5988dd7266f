#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/tcp/outcome.h"

namespace chokepoint::probe::tcp {
namespace {

using testing::HasSubstr;

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
