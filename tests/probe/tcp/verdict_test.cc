// What limits a test: a part of outcome.cc.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "probe/tcp/outcome.h"
#include "tests/fakes/golden.h"

namespace chokepoint::probe::tcp {
namespace {

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

struct Case {
  const char* what;
  Limit limit;
  std::function<void(documents::TcpFigures&)> change;
  Parameters parameters = {};
};

void over_a_distance(documents::TcpFigures& figures) {
  figures.rtt_ms->median = 15.1;
  figures.rtt_ms->min = 15.0;
}

// What differs from a quiet LAN.
std::vector<Case> cases() {
  using F = documents::TcpFigures;
  return {
      {"nothing", Limit::Path, [](F&) {}},
      {"nothing arrived", Limit::Nothing, [](F& each) { each = {}; }},
      {"paced to 9.5 Gb/s", Limit::Asked, [](F&) {}, {.pace_bits_per_s = 9.5e9}},
      {"paced to 20 Gb/s, which is not reached", Limit::Path, [](F&) {}, {.pace_bits_per_s = 20e9}},
      {"the receiver's core is full of packets", Limit::ReceiverCpu,
       [](F& each) {
         each.cpu.receiver_softirq_percent = 99;
         each.cpu.receiver_busiest_core_percent = 100;
       }},
      {"the sender's thread and its packets fill a core", Limit::SenderCpu,
       [](F& each) {
         each.per_stream[0].sender_cpu_percent = 75;
         each.cpu.sender_softirq_percent = 25;
         each.cpu.sender_busiest_core_percent = 100;
       }},
      {"a small receive window over a distance", Limit::ReceiveWindow,
       [](F& each) {
         each.limited_by = Shares{.receive_window = 0.9, .network = 0.1};
         over_a_distance(each);
       }},
      {"a receive window that --window made small",
       Limit::ReceiveWindow,
       [](F& each) {
         each.limited_by = Shares{.receive_window = 0.9, .network = 0.1};
         over_a_distance(each);
       },
       {.window = 65536}},
      {"a small send buffer", Limit::SendBuffer,
       [](F& each) { each.limited_by = Shares{.send_buffer = 0.9, .network = 0.1}; }},
      {"a sender with nothing to send", Limit::Application,
       [](F& each) { each.limited_by = Shares{.application = 0.8, .network = 0.2}; }},
      {"0.01 % lost over a distance", Limit::Loss,
       [](F& each) {
         each.throughput_mbps = 600;
         each.bytes = 750'000'000;
         each.retransmits = 52;
         over_a_distance(each);
       }},
      {"a full path that loses some", Limit::Queue,
       [](F& each) {
         each.throughput_mbps = 95;
         each.bytes = 118'000'000;
         each.retransmits = 300;
         each.rtt_ms->median = 45;
         each.rtt_ms->min = 0.2;
       }},
      {"the speed still grew when the test ended", Limit::SlowStart,
       [](F& each) {
         each.intervals = {{.start_s = 0, .end_s = 1, .throughput_mbps = 500},
                           {.start_s = 1, .end_s = 2, .throughput_mbps = 2000}};
       }},
      {"the last interval is what drained", Limit::Path, [](F& each) {
         each.intervals = {{.start_s = 0, .end_s = 1, .throughput_mbps = 9400},
                           {.start_s = 1, .end_s = 2, .throughput_mbps = 9400},
                           {.start_s = 2, .end_s = 2.001, .throughput_mbps = 20000}};
       }}};
}

TEST(Verdict, PictureOfEachLimit) {
  fakes::Sentences sentences;
  for (const Case& each : cases()) {
    Outcome outcome = healthy();
    each.change(outcome.figures);
    const Verdict verdict =
        judge(outcome, each.parameters, {.sender = "voyager", .receiver = "hubble"});
    EXPECT_EQ(verdict.limit, each.limit) << each.what;
    sentences.add(each.what, verdict.sentence);
  }
  EXPECT_GOLDEN("sentences_tcp_limits", sentences.text());
}

}  // namespace
}  // namespace chokepoint::probe::tcp
