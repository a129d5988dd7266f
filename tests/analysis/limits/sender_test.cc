// What limits a sender, over limit_timeline.cc and path_pace.cc.
#include <gtest/gtest.h>

#include <algorithm>

#include "analysis/limits/limit_timeline.h"

namespace chokepoint::analysis {
namespace {

using record::SocketSample;

constexpr std::int64_t kMs = 1'000'000;

// One connection at 0.1 ms of unloaded round trip; its readings as the kernel gives them while
// something is under way all the time.
class Sender : public testing::Test {
 protected:
  static constexpr std::int64_t kRound = 100;

  void reading(SocketSample sample, std::int64_t after_ms = 20, std::int64_t acked = 100'000) {
    if (!samples_.empty()) {
      t_ms_ += after_ms;
      acked_ += acked;
    }
    sample.t_ns = t_ms_ * kMs;
    sample.busy_us = t_ms_ * 1000;
    sample.bytes_acked = acked_;
    sample.mss_bytes = 1448;
    if (!sample.rtt_us.known()) {
      sample.rtt_us = kRound;
    }
    samples_.push_back(sample);
  }
  LimitTimes times() const {
    LimitTimes times;
    for (const LimitedSpan& span : limits_of_sender(samples_, facts_)) {
      times += span.times;
    }
    return times;
  }
  // What held back a sender that was found like this at each of two readings.
  Limit limit(const SocketSample& sample) {
    samples_.clear();
    reading(sample);
    reading(sample);
    const LimitTimes times = this->times();
    EXPECT_DOUBLE_EQ(times.sum(), 20e6);
    const auto most = std::ranges::max_element(times.ns);
    EXPECT_DOUBLE_EQ(*most, 20e6);
    return Limit(most - times.ns.begin());
  }
  void lossy() {
    facts_.packets = 100'000;
    facts_.retransmitted = 1000;
    facts_.is_lossy = true;
  }
  // The line is always at the same rate, behind a queue that stands.
  void full() {
    facts_.has_queue_mostly = true;
    facts_.is_steady = true;
  }

  DirectionFacts facts_{.min_rtt_us = kRound};
  std::vector<SocketSample> samples_;
  std::int64_t t_ms_ = 0;
  std::int64_t acked_ = 0;
};

const SocketSample kWindowFull{
    .cwnd_packets = 100, .unacked_packets = 98, .unsent_bytes = 1'000'000};

TEST_F(Sender, AFullLinkIsSeenAtTheHostsOwnQueue) {
  EXPECT_EQ(limit({.cwnd_packets = 400,
                   .rtt_us = 40'000,
                   .unacked_packets = 120,
                   .unsent_bytes = 2'000'000}),
            Limit::LinkFull);
  // Paced to the path's rate: no queue shows in the round trip.
  EXPECT_EQ(limit({.cwnd_packets = 400, .unacked_packets = 120, .unsent_bytes = 2'000'000}),
            Limit::LinkFull);
}

TEST_F(Sender, AFullLinkIsSeenAtAQueueFurtherOn) {
  SocketSample sample = kWindowFull;
  sample.rtt_us = 40'000;
  EXPECT_EQ(limit(sample), Limit::LinkFull);
  sample.unsent_bytes = 0;
  EXPECT_EQ(limit(sample), Limit::LinkFull);
}

TEST_F(Sender, AWindowThatNeverLostAPacketIsStillGrowing) {
  EXPECT_EQ(limit(kWindowFull), Limit::CongestionWindow);
}

TEST_F(Sender, AWindowThatFellByLossIsHeldDownByIt) {
  facts_.is_shrunk_by_loss = true;
  EXPECT_EQ(limit(kWindowFull), Limit::Loss);
}

// The buffer's stopwatch runs, too, where the link lets out what it can.
TEST_F(Sender, ABufferThatIsFullBehindAStandingQueueIsAFullLink) {
  const auto of_buffer = [&](std::int64_t rtt_us) {
    samples_.clear();
    SocketSample sample{.rtt_us = rtt_us, .unacked_packets = 100};
    sample.send_buffer_limited_us = 0;
    reading(sample);
    sample.send_buffer_limited_us = 20'000;
    reading(sample);
    return times()[Limit::SendBuffer];
  };
  EXPECT_DOUBLE_EQ(of_buffer(10'000), 20e6);
  full();
  EXPECT_DOUBLE_EQ(of_buffer(10'000), 0);
  EXPECT_DOUBLE_EQ(times()[Limit::LinkFull], 20e6);
  EXPECT_DOUBLE_EQ(of_buffer(kRound), 20e6);
}

TEST_F(Sender, AWindowThatLossHoldsDownIsLoss) {
  lossy();
  EXPECT_EQ(limit(kWindowFull), Limit::Loss);
  SocketSample recovering = kWindowFull;
  recovering.congestion_state = 3;
  recovering.lost_packets = 4;
  recovering.unsent_bytes = 0;
  EXPECT_EQ(limit(recovering), Limit::Loss);
}

TEST_F(Sender, WhatAFullLinkDropsIsNoLoss) {
  lossy();
  full();
  SocketSample sample = kWindowFull;
  sample.rtt_us = 40'000;
  EXPECT_EQ(limit(sample), Limit::LinkFull);
  sample.congestion_state = 3;
  sample.lost_packets = 4;
  EXPECT_EQ(limit(sample), Limit::LinkFull);
}

// A sender that slows down by loss makes no queue overflow so often.
TEST_F(Sender, WhatAPolicerDropsIsLossThoughRoundTripsAreLong) {
  lossy();
  full();
  facts_.is_policed = true;
  SocketSample sample = kWindowFull;
  sample.rtt_us = 40'000;
  EXPECT_EQ(limit(sample), Limit::Loss);
}

TEST_F(Sender, TheRestOfWhatWentWindowByWindowIsLoss) {
  lossy();
  const SocketSample rest{.cwnd_packets = 12, .unacked_packets = 10, .unsent_bytes = 0};
  EXPECT_EQ(limit(rest), Limit::RoundTrip);
  facts_.is_shrunk_by_loss = true;
  EXPECT_EQ(limit(rest), Limit::Loss);
}

// The kernel's stopwatch runs only while the whole window is under way.
TEST_F(Sender, AReceiverThatAnnouncesLittleIsSeenByWhatIsUnderWay) {
  SocketSample sample{.cwnd_packets = 400,
                      .unacked_packets = 4,
                      .unsent_bytes = 1'000'000,
                      .send_window_bytes = 10'000};
  EXPECT_EQ(limit(sample), Limit::ReceiveWindow);
  sample.unacked_packets = 2;
  EXPECT_EQ(limit(sample), Limit::LinkFull);
  sample.unacked_packets = 400;
  sample.send_window_bytes = 1'000'000;
  EXPECT_NE(limit(sample), Limit::ReceiveWindow);
}

// On a long path a sender that paces is at the path's rate only where it has more to send all the
// time, and that rate is always the same.
TEST_F(Sender, ASenderThatPacesOnALongPathMayStillLookForItsRate) {
  facts_.min_rtt_us = 20'000;
  const SocketSample pacing{
      .cwnd_packets = 4000, .rtt_us = 20'000, .unacked_packets = 120, .unsent_bytes = 2'000'000};
  facts_.is_steady = true;
  EXPECT_EQ(limit(pacing), Limit::CongestionWindow);
  facts_.has_backlog_mostly = true;
  EXPECT_EQ(limit(pacing), Limit::LinkFull);
}

TEST_F(Sender, APacketSentAgainNowAndThenIsNoLoss) {
  SocketSample recovering{.congestion_state = 3,
                          .cwnd_packets = 400,
                          .lost_packets = 1,
                          .unacked_packets = 100,
                          .unsent_bytes = 2'000'000};
  EXPECT_EQ(limit(recovering), Limit::LinkFull);
}

TEST_F(Sender, TheKernelsStopwatchesComeFirst) {
  SocketSample sample = kWindowFull;
  sample.receive_window_limited_us = 0;
  sample.send_buffer_limited_us = 0;
  reading(sample);
  sample.receive_window_limited_us = 12'000;
  sample.send_buffer_limited_us = 3'000;
  reading(sample);
  const LimitTimes found = times();
  EXPECT_DOUBLE_EQ(found[Limit::ReceiveWindow], 12e6);
  EXPECT_DOUBLE_EQ(found[Limit::SendBuffer], 3e6);
  EXPECT_DOUBLE_EQ(found[Limit::CongestionWindow], 5e6);
  EXPECT_DOUBLE_EQ(found.sum(), 20e6);
}

TEST_F(Sender, StopwatchesThatSayMoreThanTheClockAreHeldToIt) {
  SocketSample sample = kWindowFull;
  sample.receive_window_limited_us = 0;
  sample.send_buffer_limited_us = 0;
  reading(sample);
  sample.receive_window_limited_us = 24'000;  // jiffies are coarse
  sample.send_buffer_limited_us = 4'000;
  reading(sample);
  EXPECT_DOUBLE_EQ(times()[Limit::ReceiveWindow], 20e6);
  EXPECT_DOUBLE_EQ(times()[Limit::SendBuffer], 0);
  EXPECT_DOUBLE_EQ(times().sum(), 20e6);
}

TEST_F(Sender, ASendBufferThatIsFullIsSeenAtTheQueuesLength) {
  facts_.send_buffer_bytes = 4'194'304;
  SocketSample sample{.cwnd_packets = 5000,
                      .unacked_packets = 2700,
                      .unsent_bytes = 0,
                      .send_queue_bytes = 4'000'000};
  EXPECT_EQ(limit(sample), Limit::SendBuffer);
  sample.send_queue_bytes = 500'000;
  sample.unacked_packets = 345;
  EXPECT_EQ(limit(sample), Limit::LibraryCredit);
  // Somebody asked for a larger one than the system's by itself.
  sample.send_queue_bytes = 16'000'000;
  EXPECT_EQ(limit(sample), Limit::LibraryCredit);
}

TEST_F(Sender, ATinyBufferHoldsOneSuperFrame) {
  RunData run;
  run.nodes.resize(1);
  run.nodes[0].flows.resize(1);
  run.nodes[0].facts.push_back({.key = "net.ipv4.tcp_wmem", .value = "4096\t16384\t16384"});
  run.connections.resize(1);
  run.connections[0].ends[0] = FlowPlace{};
  facts_.send_buffer_bytes = facts_of(run, directions_of(run)[0]).send_buffer_bytes;
  EXPECT_EQ(facts_.send_buffer_bytes, 65536);
  EXPECT_EQ(limit({.cwnd_packets = 100, .unacked_packets = 45, .send_queue_bytes = 65'160}),
            Limit::SendBuffer);
  EXPECT_EQ(limit({.cwnd_packets = 100, .unacked_packets = 2, .send_queue_bytes = 2'000}),
            Limit::RoundTrip);
}

TEST_F(Sender, AllOnItsWayIsTheLibrarysCredit) {
  EXPECT_EQ(limit({.cwnd_packets = 2000, .unacked_packets = 700, .unsent_bytes = 0}),
            Limit::LibraryCredit);
}

TEST_F(Sender, ASmallMessageWaitsForTheRoundTripAlone) {
  SocketSample sample{
      .cwnd_packets = 10, .unacked_packets = 1, .unsent_bytes = 0, .send_queue_bytes = 1'000};
  EXPECT_EQ(limit(sample), Limit::RoundTrip);
  sample.rtt_us = 5'000;  // another's queue
  EXPECT_EQ(limit(sample), Limit::RoundTrip);
}

TEST_F(Sender, NothingUnderWayIsNoLimit) {
  samples_ = {{.t_ns = 0, .busy_us = 5}, {.t_ns = 20 * kMs, .busy_us = 5}};
  EXPECT_TRUE(limits_of_sender(samples_, facts_).empty());
}

TEST_F(Sender, FewOrEmptyReadingsTellNothing) {
  EXPECT_TRUE(limits_of_sender({}, facts_).empty());
  EXPECT_TRUE(limits_of_sender({SocketSample{.busy_us = 100}}, facts_).empty());
  EXPECT_TRUE(limits_of_sender({SocketSample{}, SocketSample{.t_ns = 20 * kMs}}, facts_).empty());
  // Its stopwatch began anew: another connection of the same ends.
  EXPECT_TRUE(limits_of_sender({SocketSample{.busy_us = 9'000},
                                SocketSample{.t_ns = 20 * kMs, .busy_us = 1'000}},
                               facts_)
                  .empty());
}

// Nothing comes through for long although something is under way.
class Stall : public Sender {
 protected:
  void stall(const SocketSample& sample) {
    reading(sample);
    for (int each = 0; each < 25; ++each) {
      reading(sample, 20, 0);
    }
  }
};

TEST_F(Stall, IsLossWithoutASinglePacketCounted) {
  stall({.cwnd_packets = 10, .unacked_packets = 10, .send_queue_bytes = 14'480});
  EXPECT_GT(times()[Limit::Loss], 300e6);
}

TEST_F(Stall, IsLossWhereEvenWhatWasSentIsTakenBack) {
  // The interface is down: the kernel keeps it all.
  stall({.cwnd_packets = 10,
         .unacked_packets = 0,
         .unsent_bytes = 200'000,
         .send_queue_bytes = 200'000});
  EXPECT_GT(times()[Limit::Loss], 300e6);
}

TEST_F(Stall, DoesNotOutliveTheMomentAtWhichSomethingComesThrough) {
  stall({.cwnd_packets = 400, .unacked_packets = 100, .unsent_bytes = 1'000'000});
  const double before = times()[Limit::Loss];
  for (int each = 0; each < 10; ++each) {
    reading({.cwnd_packets = 400, .unacked_packets = 100, .unsent_bytes = 1'000'000});
  }
  EXPECT_LE(times()[Limit::Loss], before + 20e6);
  EXPECT_GE(times()[Limit::LinkFull], 180e6);
}

// Others crowd the queue before it; or the round trip takes so long.
TEST_F(Stall, IsNoLossWhereAllOfItComesThroughInTime) {
  const SocketSample waiting{.cwnd_packets = 400,
                             .timeout_us = 900'000,
                             .retransmits = 3,
                             .unacked_packets = 100,
                             .unsent_bytes = 1'000'000};
  stall(waiting);
  EXPECT_GT(times()[Limit::Loss], 300e6) << "nothing has come yet";
  reading(waiting);
  EXPECT_DOUBLE_EQ(times()[Limit::Loss], 0);
  stall(waiting);
  SocketSample sent_again = waiting;
  sent_again.retransmits = 4;
  reading(sent_again);
  EXPECT_GT(times()[Limit::Loss], 300e6);
}

// The interface is down: nothing leaves, and what could not be sent again is not counted as such.
TEST_F(Stall, IsLossWhereTheTimerHasRunOut) {
  const SocketSample waiting{.cwnd_packets = 10,
                             .timeout_us = 200'000,
                             .retransmits = 3,
                             .unacked_packets = 0,
                             .unsent_bytes = 200'000};
  stall(waiting);
  reading(waiting);
  EXPECT_GT(times()[Limit::Loss], 300e6);
}

TEST_F(Stall, IsNoneWhereThereWasNothingToSend) {
  // Answers that were acknowledged 500 ms ago, then data that are on their way.
  reading({.cwnd_packets = 400, .unacked_packets = 0, .unsent_bytes = 0});
  reading({.cwnd_packets = 400, .unacked_packets = 0, .unsent_bytes = 0}, 500, 0);
  samples_.back().busy_us = samples_.front().busy_us;
  reading({.cwnd_packets = 400, .unacked_packets = 100, .unsent_bytes = 900'000}, 20, 0);
  samples_.back().busy_us = samples_.front().busy_us.value() + 20'000;
  EXPECT_DOUBLE_EQ(times()[Limit::Loss], 0);
}

TEST_F(Stall, IsNoneWhereReadingsAreSeldom) {
  // A host with very many connections, or detail that was folded: each reading moved on.
  for (int each = 0; each < 10; ++each) {
    reading({.cwnd_packets = 400, .unacked_packets = 100, .unsent_bytes = 1'000'000}, 500);
  }
  EXPECT_DOUBLE_EQ(times()[Limit::Loss], 0);
  EXPECT_DOUBLE_EQ(times()[Limit::LinkFull], 4500e6);
}

TEST_F(Stall, IsNotGuessedWhereTheKernelDoesNotCountWhatWasAcknowledged) {
  for (int each = 0; each < 20; ++each) {
    reading({.cwnd_packets = 400, .unacked_packets = 100, .unsent_bytes = 1'000'000});
    samples_.back().bytes_acked = {};
  }
  EXPECT_DOUBLE_EQ(times()[Limit::Loss], 0);
}

}  // namespace
}  // namespace chokepoint::analysis
