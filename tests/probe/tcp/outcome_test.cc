#include "probe/tcp/outcome.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::tcp {
namespace {

using documents::TcpFigures;

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

}  // namespace
}  // namespace chokepoint::probe::tcp
