#include "probe/quic/outcome.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/fakes/golden.h"

namespace chokepoint::probe::quic {
namespace {

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

struct Case {
  const char* what;
  Limit limit;
  std::function<void(documents::QuicFigures&)> change;
  Parameters parameters = {};
};

// What differs from a sender that waits for its congestion window.
std::vector<Case> cases() {
  using F = documents::QuicFigures;
  return {
      {"nothing", Limit::CongestionWindow, [](F&) {}},
      {"nothing arrived", Limit::Nothing, [](F& each) { each = {}; }},
      {"paced to 810 Mb/s", Limit::Asked, [](F&) {}, {.pace_bits_per_s = 810e6}},
      {"paced to 2 Gb/s, which is not reached",
       Limit::CongestionWindow,
       [](F&) {},
       {.pace_bits_per_s = 2e9}},
      {"the sender's thread is full", Limit::SenderCpu,
       [](F& each) { each.cpu.sender_busy_percent = 97; }},
      {"both threads are full", Limit::ReceiverCpu,
       [](F& each) {
         each.cpu.sender_busy_percent = 97;
         each.cpu.receiver_busy_percent = 99;
       }},
      {"core 3 is full of packets", Limit::ReceiverCpu,
       [](F& each) { each.cpu.receiver_softirq_percent = 99; }},
      {"the flow window", Limit::FlowWindow,
       [](F& each) {
         each.limited_by = Shares{.processor = 0.2, .flow_window = 0.5, .congestion_window = 0.3};
       }},
      {"the send buffer", Limit::SendBuffer,
       [](F& each) {
         each.limited_by = Shares{.processor = 0.2, .congestion_window = 0.3, .send_buffer = 0.5};
       }},
      {"a sender that waited for hardly anything", Limit::SenderCpu,
       [](F& each) { each.limited_by = Shares{.processor = 0.87, .congestion_window = 0.13}; }},
      {"0.1 % lost", Limit::Loss, [](F& each) { each.retransmits = 700; }},
      {"0.1 % lost by a full queue", Limit::Queue,
       [](F& each) {
         each.retransmits = 700;
         each.rtt_ms->median = 20;
       }},
      {"1 % marked", Limit::Marks, [](F& each) { each.ecn.received_ce = 7'000; }},
      {"1 % marked, and more lost", Limit::Loss,
       [](F& each) {
         each.ecn.received_ce = 7'000;
         each.retransmits = 20'000;
       }},
      {"the sender is another program", Limit::Nothing,
       [](F& each) {
         each.limited_by.reset();
         each.cpu.sender_busy_percent.reset();
       }},
      {"the sender is another program, and the receiver's thread is full", Limit::ReceiverCpu,
       [](F& each) {
         each.limited_by.reset();
         each.cpu.sender_busy_percent.reset();
         each.cpu.receiver_busy_percent = 97;
       }},
      {"the receiver is another program", Limit::CongestionWindow, [](F& each) {
         each.ecn = {};
         each.cpu.receiver_busy_percent.reset();
       }}};
}

TEST(QuicVerdict, PictureOfEachLimit) {
  fakes::Sentences sentences;
  for (const Case& each : cases()) {
    Outcome outcome = calm();
    outcome.receiver_softirq_core = 3;
    each.change(outcome.figures);
    const Verdict verdict =
        judge(outcome, each.parameters, {.sender = "voyager", .receiver = "hubble"});
    EXPECT_EQ(verdict.limit, each.limit) << each.what;
    sentences.add(each.what, verdict.sentence);
  }
  EXPECT_GOLDEN("sentences_quic_limits", sentences.text());
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

}  // namespace
}  // namespace chokepoint::probe::quic
