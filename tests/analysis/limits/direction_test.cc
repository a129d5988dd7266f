#include "analysis/limits/direction.h"

#include <gtest/gtest.h>

#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

class Directions : public testing::Test {
 protected:
  Directions() {
    made_.host("a");
    made_.host("b");
    ab_ = made_.connect("a", "b");
  }
  DirectionFacts facts(Direction direction = Direction::AToB) {
    return facts_of(made_.data, directions_of(made_.data).at(static_cast<std::size_t>(direction)));
  }
  FlowData& flow_at(const std::string& name) { return made_.node(name).flows.front(); }

  MadeRun made_;
  std::size_t ab_ = 0;
};

TEST_F(Directions, AreTwoOfEachConnection) {
  const auto views = directions_of(made_.data);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].direction, Direction::AToB);
  EXPECT_EQ(views[0].sender, 0U);
  EXPECT_EQ(views[0].receiver, 1U);
  EXPECT_EQ(views[1].sender, 1U);
  EXPECT_EQ(views[1].at_receiver, &flow_at("a"));
}

TEST_F(Directions, AreToldByTheEndThatLeftARecord) {
  made_.lose("b");
  const auto views = directions_of(made_.data);
  ASSERT_EQ(views.size(), 2U);
  EXPECT_FALSE(views[1].sender);
  EXPECT_EQ(views[1].best_node(), 0U);
  EXPECT_EQ(&views[1].best(), &flow_at("a"));
  made_.lose("a");
  EXPECT_TRUE(directions_of(made_.data).empty());
}

TEST_F(Directions, HaveWhatTheFullerRecordCounted) {
  made_.add_traffic(ab_, Direction::AToB, {.mbps = 800, .lost = 0.01});
  flow_at("b").totals[0] = {.packets = 10, .payload_bytes = 10'000};
  const DirectionFacts found = facts();
  EXPECT_NEAR(found.bytes, 20 * 0.06 * 1e8, 1e4);
  EXPECT_NEAR(found.retransmitted, 0.01 * found.packets, 2);
}

TEST_F(Directions, UnloadedRoundTripIsThePacketsOfTheSender) {
  made_.add_traffic(ab_, Direction::AToB, {.min_rtt_us = 300});
  for (auto& sample : flow_at("a").sockets[0]) {
    sample.min_rtt_us = 40;
    sample.retransmits = 1;  // sockets cannot tell a packet from one sent again
  }
  EXPECT_DOUBLE_EQ(facts().min_rtt_us, 300);
}

TEST_F(Directions, UnloadedRoundTripIsBelowAQueueThatAlwaysStands) {
  made_.add_traffic(ab_, Direction::AToB, {.min_rtt_us = 2'100});
  // The kernel remembers the handshake; what it says after a loss may be wrong.
  auto& readings = flow_at("a").sockets[0];
  for (auto& sample : readings) {
    sample.min_rtt_us = &sample == &readings.front() ? 270 : 90;
    sample.retransmits = &sample == &readings.front() ? 0 : 7;
  }
  EXPECT_DOUBLE_EQ(facts().min_rtt_us, 270);
}

TEST_F(Directions, UnloadedRoundTripIsThatOfTheWayWithoutTheQueue) {
  made_.add_traffic(ab_, Direction::AToB, {.min_rtt_us = 5'000});
  made_.add_traffic(ab_, Direction::BToA, {.min_rtt_us = 200});
  EXPECT_DOUBLE_EQ(facts().min_rtt_us, 200);
  EXPECT_DOUBLE_EQ(facts(Direction::BToA).min_rtt_us, 200);
}

TEST_F(Directions, UnloadedRoundTripIsElseTheSocketsOfEitherEnd) {
  made_.add_traffic(ab_, Direction::AToB, {.min_rtt_us = 300});
  made_.add_traffic(ab_, Direction::BToA, {.min_rtt_us = 250});
  for (FlowData* flow : {&flow_at("a"), &flow_at("b")}) {
    flow->packets = {};
  }
  EXPECT_DOUBLE_EQ(facts().min_rtt_us, 250);
  flow_at("a").sockets = {};
  flow_at("b").sockets = {};
  EXPECT_DOUBLE_EQ(facts().min_rtt_us, 0);
}

TEST_F(Directions, LossIsMoreThanAnyNetworkHas) {
  made_.add_traffic(ab_, Direction::AToB, {.busy_ms = 100, .mbps = 9000, .lost = 0.00001});
  EXPECT_FALSE(facts().is_lossy);
  made_.add_traffic(ab_, Direction::BToA, {.busy_ms = 100, .mbps = 9000, .lost = 0.01});
  EXPECT_TRUE(facts(Direction::BToA).is_lossy);
  EXPECT_FALSE(facts().is_lossy);
}

// Where packets overtake each other, the sender takes them for lost.
TEST_F(Directions, LossIsNotWhatArrivedAllTheSame) {
  made_.add_traffic(ab_, Direction::AToB, {.busy_ms = 100, .mbps = 9000, .lost = 0.01});
  for (FlowData* flow : {&flow_at("a"), &flow_at("b")}) {
    record::FlowTotal& total = flow->totals[0];
    total.spurious_retransmissions = total.retransmitted_packets;
  }
  EXPECT_FALSE(facts().is_lossy);
  EXPECT_GT(facts().retransmitted, 0);
}

TEST_F(Directions, LossIsAlsoWhatKeepsALargeWindowFromGrowing) {
  MadeTraffic way{.busy_ms = 100, .mbps = 9000, .lost = 0.0002, .like = {.unacked_packets = 100}};
  way.like.cwnd_packets = 100;
  made_.add_traffic(ab_, Direction::AToB, way);
  EXPECT_FALSE(facts().is_lossy);
  way.like.cwnd_packets = 10'000;
  made_.add_traffic(ab_, Direction::BToA, way);
  EXPECT_TRUE(facts(Direction::BToA).is_lossy);
}

// The window halves every tenth reading, 100 ms after a packet was sent again or after a pause.
TEST_F(Directions, TellWhetherLossesOrPausesMadeTheWindowSmaller) {
  made_.add_traffic(ab_, Direction::AToB, {.busy_ms = 100});
  auto& readings = flow_at("a").sockets[0];
  const auto shrink = [&](bool is_lost) {
    for (std::size_t place = 0; place < readings.size(); ++place) {
      const bool has_fallen = place % 10 >= 5;
      readings[place].cwnd_packets = has_fallen ? 50 : 100;
      readings[place].unacked_packets = place % 10 == 4 && !is_lost ? 0 : 40;
      readings[place].retransmits = is_lost ? static_cast<std::int64_t>(place / 10) : 0;
    }
  };
  shrink(true);
  EXPECT_TRUE(facts().is_shrunk_by_loss);
  EXPECT_FALSE(facts().is_lossy);
  shrink(false);
  EXPECT_FALSE(facts().is_shrunk_by_loss);
}

TEST_F(Directions, AreSteadyWhereTheyGoAsFastAsTheyEverDid) {
  made_.add_traffic(ab_, Direction::AToB, {});
  EXPECT_TRUE(facts().is_steady);
  for (FlowData* flow : {&flow_at("a"), &flow_at("b")}) {
    std::size_t place = 0;
    for (record::FlowSample& bin : flow->packets[0]) {
      bin.payload_bytes = place++ % 8 == 0 ? 1'000'000 : 100'000;
    }
  }
  EXPECT_FALSE(facts().is_steady);
  EXPECT_FALSE(facts(Direction::BToA).is_steady);  // it had nothing under way
}

TEST_F(Directions, HaveAQueueMostlyWhereTheRoundTripShowsIt) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  EXPECT_TRUE(facts().has_queue_mostly);
  MadeTraffic quick = full_link();
  quick.rtt_us = quick.min_rtt_us;
  made_.add_traffic(ab_, Direction::BToA, quick);
  EXPECT_FALSE(facts(Direction::BToA).has_queue_mostly);
}

// Seen of Gloo's all-reduces of 4 KB: 40 ms now and then, of packets that went through at once.
TEST_F(Directions, HaveNoQueueWhereOnePacketIsAcknowledgedLate) {
  MadeTraffic late = full_link();
  late.like = {.rtt_variance_us = 2 * late.rtt_us, .unacked_packets = 1, .unsent_bytes = 0};
  made_.add_traffic(ab_, Direction::AToB, late);
  EXPECT_FALSE(facts().has_queue_mostly);
  // Before a queue of other connections each is late.
  late.like.rtt_variance_us = late.rtt_us / 3;
  made_.add_traffic(ab_, Direction::BToA, late);
  EXPECT_TRUE(facts(Direction::BToA).has_queue_mostly);
}

TEST_F(Directions, HaveABacklogMostlyWhereMoreWaitsToBeSent) {
  made_.add_traffic(ab_, Direction::AToB,
                    {.like = {.mss_bytes = 1448, .unacked_packets = 10, .unsent_bytes = 9'000}});
  EXPECT_TRUE(facts().has_backlog_mostly);
  made_.add_traffic(ab_, Direction::BToA,
                    {.like = {.mss_bytes = 1448, .unacked_packets = 10, .unsent_bytes = 1'000}});
  EXPECT_FALSE(facts(Direction::BToA).has_backlog_mostly);
}

// A sender that slows down by loss loses a packet now and then to a queue that overflows.
TEST_F(Directions, ArePolicedWhereFarMoreIsLostThanAQueueDrops) {
  made_.add_traffic(ab_, Direction::AToB, {.lost = 0.03});
  EXPECT_FALSE(facts().is_policed) << "its sender may not care for loss";
  made_.node("a").facts.push_back({.key = "net.ipv4.tcp_congestion_control", .value = "cubic"});
  EXPECT_TRUE(facts().is_policed);
  made_.add_traffic(ab_, Direction::AToB, {.lost = 0.005});
  EXPECT_FALSE(facts().is_policed);
}

TEST_F(Directions, KnowNoBufferThatNobodyWroteDown) {
  EXPECT_FALSE(facts().send_buffer_bytes);
  made_.node("a").facts.push_back({.key = "net.ipv4.tcp_wmem", .value = "4096 16384 4194304"});
  EXPECT_EQ(facts().send_buffer_bytes, 4'194'304);
  EXPECT_FALSE(facts(Direction::BToA).send_buffer_bytes);
  made_.node("b").facts.push_back({.key = "net.ipv4.tcp_wmem", .value = "unreadable"});
  EXPECT_FALSE(facts(Direction::BToA).send_buffer_bytes);
}

TEST(HasQueue, NeedsToBeMuchLongerAndByEnough) {
  EXPECT_FALSE(has_queue(5'000, {}));
  EXPECT_FALSE(has_queue(400, {.min_rtt_us = 100}));
  EXPECT_TRUE(has_queue(5'000, {.min_rtt_us = 100}));
  EXPECT_FALSE(has_queue(21'000, {.min_rtt_us = 20'000}));
  EXPECT_TRUE(has_queue(60'000, {.min_rtt_us = 20'000}));
}

TEST(Limits, HaveNamesOfTheirOwn) {
  for (std::size_t one = 0; one < kLimits; ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      EXPECT_STRNE(name_of(Limit(one)), name_of(Limit(other)));
    }
  }
}

// Bursts of its own, beside others who fill the line.
TEST_F(Directions, AreSteadyWhereTheLineIs) {
  made_.add_traffic(ab_, Direction::AToB, {.like = {.unacked_packets = 100}});
  auto& bins = flow_at("b").packets[0];
  for (std::size_t place = 0; place < bins.size(); ++place) {
    bins[place].payload_bytes = place % 3 == 0 ? 900'000 : 100'000;
  }
  EXPECT_FALSE(facts().is_steady);
  NodeData& node = made_.node("a");
  made_.counter(node, record::kNicSentBytes, "eth0", 40e6);
  SeriesData& sent = node.series.back();
  const Reading first = sent.readings.front();
  const Reading last = sent.readings.back();
  sent.readings.clear();
  for (int tenth = 0; tenth <= 10; ++tenth) {
    sent.readings.push_back({.t_ns = first.t_ns + (last.t_ns - first.t_ns) / 10 * tenth,
                             .value = last.value / 10 * tenth});
  }
  EXPECT_TRUE(facts().is_steady);
  for (std::size_t tenth = 0; tenth < 8; ++tenth) {
    sent.readings[tenth].value /= 4;
  }
  EXPECT_FALSE(facts().is_steady);
}

// Half of the round trips are long: before a link they would all be, while data pass.
TEST_F(Directions, AreLateByAHostThatIsCrowded) {
  made_.add_traffic(ab_, Direction::AToB, {.min_rtt_us = 100, .rtt_us = 3000});
  auto& bins = flow_at("a").packets[0];
  for (std::size_t place = 0; place < bins.size(); place += 2) {
    bins[place].rtt_us = 150;
  }
  EXPECT_FALSE(facts().is_late_by_host);
  made_.counter(made_.node("b"), record::kPressureSome, "cpu", 0.3e9);
  EXPECT_TRUE(facts().is_late_by_host);
  for (auto& bin : bins) {
    bin.rtt_us = 3000;
  }
  EXPECT_FALSE(facts().is_late_by_host);
}

// Seen of FSDP's ranks, two a host, on a link of 400 Mb/s: of half of their bins.
TEST_F(Directions, AreNotLateByACrowdedHostWhereWhatIsInFlightLeavesAtOneRate) {
  made_.add_traffic(ab_, Direction::AToB, full_link());
  made_.counter(made_.node("b"), record::kPressureSome, "cpu", 0.3e9);
  const auto in_flight = [&](double of_rate) {
    std::size_t place = 0;
    for (record::FlowSample& bin : flow_at("a").packets[0]) {
      const double bytes_a_us =
          static_cast<double>(bin.payload_bytes.value()) * 1e3 / static_cast<double>(bin.bin_ns);
      bin.rtt_us = place++ % 2 == 0 ? 4'000 : bin.min_rtt_us.value();
      bin.max_in_flight_bytes = static_cast<std::int64_t>(of_rate * bytes_a_us * 4'000);
    }
  };
  in_flight(1.1);
  EXPECT_FALSE(facts().is_late_by_host);
  in_flight(3);
  EXPECT_TRUE(facts().is_late_by_host);
}

}  // namespace
}  // namespace chokepoint::analysis
