#include "analysis/attribution/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/record/names.h"
#include "tests/analysis/attribution/sound.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::HasSubstr;
using testing::IsEmpty;

// a and b exchange in 60 of every 100 ms.
class Diagnosed : public testing::Test {
 protected:
  Diagnosed() {
    made_.host("a");
    made_.host("b");
    ab_ = made_.connect("a", "b");
  }
  void send(const MadeTraffic& way) { made_.add_traffic(ab_, Direction::AToB, way); }
  void receive(const MadeTraffic& way) { made_.add_traffic(ab_, Direction::BToA, way); }
  Diagnosis diagnosis(const DiagnoseOptions& options = {}) {
    Diagnosis found = diagnose(made_.data, options);
    expect_sound(found);
    return found;
  }
  void starve(const std::string& name) {
    made_.counter(made_.node(name), record::kThreadCpu, "1000/python3 (main)", 5e7);
    made_.counter(made_.node(name), record::kThreadWait, "1000/python3 (main)", 9e8);
  }

  MadeRun made_;
  std::size_t ab_ = 0;
};

MadeTraffic lossy(std::int64_t rtt_us) {
  return {.min_rtt_us = rtt_us,
          .rtt_us = rtt_us,
          .lost = 0.01,
          .like = {.congestion_state = 0,
                   .mss_bytes = 1448,
                   .cwnd_packets = 40,
                   .unacked_packets = 40,
                   .unsent_bytes = 1'000'000}};
}

MadeTraffic in_flight(std::int64_t rtt_us, std::int64_t packets) {
  return {
      .min_rtt_us = rtt_us,
      .rtt_us = rtt_us,
      .like = {
          .mss_bytes = 1448, .cwnd_packets = 2000, .unacked_packets = packets, .unsent_bytes = 0}};
}

TEST_F(Diagnosed, AFullLinkOneWay) {
  send(full_link());
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(verdict.where.from, "a");
  EXPECT_EQ(verdict.where.to, "b");
  EXPECT_EQ(verdict.where.direction, "");
  EXPECT_NEAR(verdict.lost_ms_per_step, 60, 6);
}

// Of a capture whose messages cannot be read: ranks may wait for one that is late beside a link
// that is full for a third of the time, not beside one that takes most of it.
TEST_F(Diagnosed, AFullLinkOfAnUnreadableCaptureTakesMostOfTheStep) {
  send(full_link());
  for (NodeData& node : made_.data.nodes) {
    node.is_capture = true;
  }
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanBandwidth);

  MadeRun brief;
  brief.host("a");
  brief.host("b");
  MadeTraffic third = full_link();
  third.busy_ms = 35;
  brief.add_traffic(brief.connect("a", "b"), Direction::AToB, third);
  EXPECT_EQ(diagnose(brief.data).verdict.verdict, VerdictClass::LanBandwidth);
  for (NodeData& node : brief.data.nodes) {
    node.is_capture = true;
  }
  EXPECT_EQ(diagnose(brief.data).verdict.verdict, VerdictClass::Unknown);
}

// 900 Mb/s between cards of 10 Gb/s, of 2 and of 1.
TEST_F(Diagnosed, ALinkThatIsFullFarBelowItsCardsIsShaped) {
  send(full_link());
  const Verdict shaped = diagnosis().verdict;
  EXPECT_EQ(shaped.cause, Cause::Shaper);
  ASSERT_FALSE(shaped.advice.empty());
  EXPECT_THAT(shaped.advice.front().what, HasSubstr("find what limits its rate"));
  for (const Advice& each : shaped.advice) {
    EXPECT_EQ(std::ranges::count(shaped.advice, each.command, &Advice::command), 1) << each.what;
  }
  made_.node("b").interfaces.front().speed_mbps = 2'000;
  EXPECT_EQ(diagnosis().verdict.cause, Cause::Shaper);
  made_.node("b").interfaces.front().speed_mbps = 1'000;
  EXPECT_EQ(diagnosis().verdict.cause, Cause::LineRate);
}

TEST_F(Diagnosed, AFullLinkBothWays) {
  made_.data.connections.clear();
  const std::size_t one = made_.connect("a", "b");
  const std::size_t other = made_.connect("a", "b");
  MadeTraffic early = full_link();
  early.busy_ms = 100;
  early.mbps = 500;
  made_.add_traffic(one, Direction::AToB, early);
  made_.add_traffic(other, Direction::BToA, full_link());
  EXPECT_EQ(diagnosis().verdict.where.direction, "both");
}

// Two ranks of a ring on each host: what b sends waits in its own queue, and so do b's answers to
// what a sends, of which nothing waits.
TEST_F(Diagnosed, AQueueInWhichAnswersWaitIsThatOfTheWayBack) {
  made_.data.connections.clear();
  const std::size_t one = made_.connect("a", "b");
  const std::size_t other = made_.connect("a", "b");
  MadeTraffic answered_late = full_link();
  answered_late.busy_ms = 70;
  answered_late.like.unsent_bytes = 0;
  made_.add_traffic(one, Direction::AToB, answered_late);
  made_.add_traffic(other, Direction::BToA, full_link());
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(verdict.where.from, "b");
  EXPECT_EQ(verdict.where.to, "a");
  EXPECT_EQ(verdict.where.direction, "");
}

// Packets are seen behind the host's own queue, so they show none; tasks wait for processors, too.
TEST_F(Diagnosed, AQueueBeforeTheOwnInterfaceIsNoHostThatIsLate) {
  send(full_link());
  for (record::FlowSample& sample : made_.node("a").flows.front().packets[0]) {
    sample.rtt_us = 100;
  }
  made_.counter(made_.node("a"), record::kPressureSome, "cpu", 0.3e9);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanBandwidth);
}

// Of 60 ms, 40 behind computing that a processor's main thread does: with a tenth of it the rest
// would all be hidden, but for the end.
TEST_F(Diagnosed, WhatALinkCostsIsGivenBackInTheOpenFirst) {
  send(full_link());
  made_.counter(made_.node("a"), record::kThreadCpu, "1000/python3 (main)", 0.8e9);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_NEAR((*found.accounting)[Account::Link], 20, 2);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 20, 2);
}

// The exchange's own threads run for 30 of 60 ms, whatever the path.
TEST_F(Diagnosed, AShorterPathDoesNotGiveBackWhatTheExchangeItselfTakes) {
  const MadeTraffic way = in_flight(20'000, 10);
  send(way);
  const double all_ms = diagnosis().verdict.lost_ms_per_step;
  made_.counter(made_.node("a"), record::kThreadCpu, "1000/python3 (main)", 0.3e9);
  made_.counter(made_.node("a"), record::kThreadCpu, "1000/python3 (epoll)", 0.3e9);
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::WanLatency);
  EXPECT_NEAR(verdict.lost_ms_per_step, all_ms / 2, 4);
}

// What goes in pieces of a small buffer waits for answers between them.
TEST_F(Diagnosed, RoundTripsBetweenPiecesOfASmallBufferAreTheBuffers) {
  made_.node("a").facts.push_back({.key = "net.ipv4.tcp_wmem", .value = "4096 16384 16384"});
  MadeTraffic pieces = in_flight(500, 40);
  pieces.send_buffer = 0.7;
  pieces.like.unacked_packets = 20;
  send(pieces);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::SenderHost);
  EXPECT_EQ(found.verdict.cause, Cause::SendBuffer);
  EXPECT_EQ((*found.accounting)[Account::Latency], 0);
  EXPECT_NEAR((*found.accounting)[Account::SenderHost], 60, 6);
}

TEST_F(Diagnosed, AFullWidePath) {
  MadeTraffic way = full_link();
  way.min_rtt_us = 20'000;
  way.rtt_us = 60'000;
  send(way);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WanBandwidth);
  EXPECT_EQ(diagnosis({.wan_rtt_ms = 30}).verdict.verdict, VerdictClass::LanBandwidth);
}

TEST_F(Diagnosed, Loss) {
  send(lossy(100));
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::LanLoss);
  EXPECT_EQ(verdict.cause, Cause::Loss);
  EXPECT_EQ(verdict.evidence.front().what, "packets retransmitted");
  EXPECT_NEAR(*verdict.evidence.front().value, 1, 0.1);
}

TEST_F(Diagnosed, LossOnAWidePath) {
  send(lossy(20'000));
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WanLoss);
}

TEST_F(Diagnosed, ASmallReceiveBuffer) {
  MadeTraffic way = in_flight(100, 44);
  way.receive_window = 0.9;
  send(way);
  const Verdict near = diagnosis().verdict;
  EXPECT_EQ(near.verdict, VerdictClass::ReceiverHost);
  EXPECT_EQ(near.cause, Cause::ReceiveWindow);
  EXPECT_EQ(near.where.to, "b");
}

TEST_F(Diagnosed, ASmallReceiveBufferForAWidePath) {
  MadeTraffic way = in_flight(20'000, 44);
  way.receive_window = 0.9;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::WanLatency);
  EXPECT_EQ(found.verdict.cause, Cause::ReceiveWindow);
  EXPECT_GT((*found.accounting)[Account::Window], 40);
}

TEST_F(Diagnosed, ASmallSendBuffer) {
  MadeTraffic way = in_flight(100, 44);
  way.send_buffer = 0.9;
  send(way);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::SenderHost);
  EXPECT_EQ(diagnosis().verdict.cause, Cause::SendBuffer);
}

TEST_F(Diagnosed, ASmallSendBufferForAWidePath) {
  MadeTraffic way = in_flight(20'000, 44);
  way.send_buffer = 0.9;
  send(way);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WanLatency);
  EXPECT_EQ(diagnosis().verdict.cause, Cause::SendBuffer);
}

TEST_F(Diagnosed, TheLibrarysCredit) {
  send(in_flight(20'000, 700));
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WanLatency);
  EXPECT_EQ(diagnosis().verdict.cause, Cause::GlooCredit);
}

TEST_F(Diagnosed, RoundTripsOfSmallMessages) {
  send(in_flight(1'500, 1));
  const Verdict near = diagnosis().verdict;
  EXPECT_EQ(near.verdict, VerdictClass::LanLatency);
  EXPECT_EQ(near.cause, Cause::RoundTrips);
  EXPECT_LT(near.lost_ms_per_step, 60);  // some delay every wire has
}

TEST_F(Diagnosed, AMessageWaitsForARoundTripAndNoCredit) {
  send(in_flight(20'000, 44));
  made_.collectives(60, {0, 0});
  EXPECT_EQ(diagnosis().verdict.cause, Cause::GlooCredit);
  for (record::Collective& row : made_.node("a").collectives) {
    row.kind = record::CollectiveKind::Send;
  }
  for (record::Collective& row : made_.node("b").collectives) {
    row.kind = record::CollectiveKind::Receive;
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::WanLatency);
  EXPECT_EQ(found.verdict.cause, Cause::RoundTrips);
}

TEST_F(Diagnosed, ARoundTripIsBothWays) {
  send(in_flight(20'000, 1));
  EXPECT_EQ(diagnosis().verdict.cause, Cause::RoundTrips);
  EXPECT_EQ(diagnosis().verdict.where.direction, "both");
}

TEST_F(Diagnosed, RoundTripsThatNoWireShortensAreNoAlarm) {
  send(in_flight(80, 1));
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::Compute);
}

TEST_F(Diagnosed, AWindowThatIsStillGrowing) {
  MadeTraffic way = lossy(20'000);
  way.lost = 0;
  send(way);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WanLatency);
  EXPECT_EQ(diagnosis().verdict.cause, Cause::CongestionWindow);
}

TEST_F(Diagnosed, ANarrowSlot) {
  made_.gauge(made_.node("b"), record::kPcieCeiling, "eth0", 1000);
  send(full_link());
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::PcieNic);
  EXPECT_EQ(found.verdict.where.node, "b");
  EXPECT_EQ(found.verdict.where.interface, "eth0");
  EXPECT_GT((*found.accounting)[Account::Pcie], 50);
}

TEST_F(Diagnosed, ASlotIsNarrowOrSlowWhicheverTheCardLosesMoreBy) {
  NodeData& node = made_.node("b");
  made_.gauge(node, record::kPcieCeiling, "eth0", 1000);
  made_.gauge(node, record::kPcieSpeed, "eth0", 2.5);
  made_.gauge(node, record::kPcieWidth, "eth0", 8);
  send(full_link());
  EXPECT_EQ(diagnosis().verdict.cause, Cause::PcieWidth);  // what the card can do is not known
  node.facts.push_back({0, "nic", "eth0", "pci_address", "0000:3b:00.0", ""});
  node.facts.push_back({0, "pci", "0000:3b:00.0", "max_speed_gts", "16", ""});
  node.facts.push_back({0, "pci", "0000:3b:00.0", "max_width", "16", ""});
  EXPECT_EQ(diagnosis().verdict.cause, Cause::PcieSpeed);
  node.facts.back().value = "128";
  EXPECT_EQ(diagnosis().verdict.cause, Cause::PcieWidth);
}

TEST_F(Diagnosed, OthersTraffic) {
  made_.counter(made_.node("a"), record::kNicSentBytes, "eth0", 180e6);
  made_.counter(made_.node("a"), record::kJobSentBytes, "eth0", 70e6);
  send(full_link());
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(found.verdict.cause, Cause::CompetingTraffic);
  // Half of what the link carries is the job's, and so is half of the time.
  EXPECT_NEAR(found.verdict.lost_ms_per_step / (*found.accounting)[Account::Link], 0.5, 0.05);
}

TEST_F(Diagnosed, OthersTrafficThatIsStoragesIsNamedAsThat) {
  made_.counter(made_.node("b"), record::kNicReceivedBytes, "eth0", 180e6);
  made_.counter(made_.node("b"), record::kJobReceivedBytes, "eth0", 70e6);
  made_.counter(made_.node("b"), record::kNfsReadBytes, "/data", 90e6);
  send(full_link());
  const Verdict found = diagnosis().verdict;
  EXPECT_EQ(found.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(found.cause, Cause::StorageTraffic);
  EXPECT_EQ(found.where.node, "b");
  EXPECT_EQ(found.where.mount, "/data");
  EXPECT_EQ(sentence_of(found).find("{"), std::string::npos) << sentence_of(found);
}

TEST_F(Diagnosed, TheJobsOwnCheckpointsShareTheLink) {
  made_.counter(made_.node("a"), record::kNicSentBytes, "eth0", 180e6);
  made_.counter(made_.node("a"), record::kJobSentBytes, "eth0", 180e6);
  send(full_link());
  NodeData& node = made_.node("a");
  FlowData upload{.row = {.protocol = "tcp",
                          .a_address = "10.0.0.1",
                          .a_port = 50'000,
                          .b_address = "10.9.0.1",
                          .b_port = 9'000,
                          .local_end = 0,
                          .interface = "eth0",
                          .content = "http",
                          .job = 1}};
  // Beside the exchange, at the end of each step of 100 ms, or before it.
  const auto upload_at = [&](std::int64_t ms) {
    upload.packets[0].clear();
    for (std::int64_t step = 0; step < 20; ++step) {
      for (std::int64_t bin = 0; bin < 5; ++bin) {
        upload.packets[0].push_back(
            {.t_ns = made_.span().start_ns + (100 * step + ms + 10 * bin) * 1'000'000,
             .bin_ns = 10'000'000,
             .bytes = 1'000'000});
      }
    }
  };
  upload_at(50);
  node.flows.push_back(upload);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(found.verdict.cause, Cause::JobTraffic);
  EXPECT_EQ(sentence_of(found.verdict).find("{"), std::string::npos) << sentence_of(found.verdict);
  // The same connection for something else is none of that, nor the same bytes at another time.
  node.flows.back().row.content = "gloo";
  EXPECT_NE(diagnosis().verdict.cause, Cause::JobTraffic);
  upload_at(0);
  node.flows.back() = upload;
  EXPECT_NE(diagnosis().verdict.cause, Cause::JobTraffic);
}

TEST_F(Diagnosed, LongRoundTripsOfACrowdedHostAreNoFullLink) {
  MadeTraffic way = full_link();
  way.like.unsent_bytes = 0;
  send(way);
  auto& bins = made_.node("a").flows.front().packets[0];
  for (std::size_t place = 0; place < bins.size(); place += 2) {
    bins[place].rtt_us = 100;
  }
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanBandwidth);
  made_.counter(made_.node("a"), record::kPressureSome, "cpu", 0.3e9);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::Compute);
}

// Answers wait in the queue of the way back: it shows in the round trips of both ways.
TEST_F(Diagnosed, OthersTrafficOnTheWayBack) {
  made_.counter(made_.node("b"), record::kNicSentBytes, "eth0", 180e6);
  made_.counter(made_.node("b"), record::kJobSentBytes, "eth0", 10e6);
  send(full_link());
  MadeTraffic back = full_link(80);
  back.busy_ms = 20;
  made_.add_traffic(0, record::Direction::BToA, back);
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.cause, Cause::CompetingTraffic);
  EXPECT_EQ(verdict.where.from, "b");
  EXPECT_EQ(verdict.where.direction, "");
}

TEST_F(Diagnosed, ABetterInterfaceThatWasIdle) {
  made_.node("a").interfaces.push_back({"ens2", "physical", true, 25'000, {"10.1.0.1/24"}});
  made_.node("b").interfaces.push_back({"ens2", "physical", true, 25'000, {"10.1.0.2/24"}});
  send(full_link());
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::WrongPath);
  EXPECT_EQ(diagnosis().verdict.cause, Cause::ManagementInterface);
}

// Who waits for a late rank sends nothing, as who computes does.
TEST_F(Diagnosed, WithoutTheLibrarysMessagesComputingIsLessSure) {
  MadeTraffic way = in_flight(80, 1);
  way.busy_ms = 2;
  send(way);
  const Diagnosis unseen = diagnosis();
  made_.collectives(2, {0, 0});
  const Diagnosis seen = diagnosis();
  EXPECT_EQ(unseen.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(seen.verdict.verdict, VerdictClass::Compute);
  EXPECT_LT(unseen.verdict.confidence, 0.6 * seen.verdict.confidence);
  EXPECT_THAT(unseen.missing, testing::Contains(testing::HasSubstr("arrives late")));
  EXPECT_THAT(seen.missing, testing::Not(testing::Contains(testing::HasSubstr("arrives late"))));
}

TEST_F(Diagnosed, AStarvedHostTakesTheBlame) {
  starve("b");
  MadeTraffic way = full_link();
  way.receive_window = 0.5;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::ReceiverHost);
  EXPECT_EQ(found.verdict.cause, Cause::ProcessCpu);
  EXPECT_EQ(found.verdict.where.to, "b");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 60, 6);
  EXPECT_THAT(found.others, IsEmpty());
}

TEST_F(Diagnosed, AStarvedSenderTakesTheBlame) {
  starve("a");
  send(full_link());
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::SenderHost);
}

// Its thinking is stretched as its sending is: 80 ms of a step of 100 it waited for a processor.
TEST_F(Diagnosed, AStarvedSendersComputingIsNotAllComputing) {
  starve("a");
  MadeTraffic way = full_link();
  way.busy_ms = 20;
  send(way);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    made_.data.nodes[static_cast<std::size_t>(rank)].processes.push_back({.pid = 1, .rank = rank});
  }
  const Diagnosis found = diagnosis();
  ASSERT_EQ(found.ranks.size(), 2U);
  EXPECT_GT(found.ranks[0].computing_ms, found.ranks[1].computing_ms + 20);
  EXPECT_NEAR(found.ranks[1].waiting_ms, found.ranks[0].computing_ms - found.ranks[1].computing_ms,
              0.01);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::SenderHost);
  EXPECT_GT(found.verdict.lost_ms_per_step, 40);
  EXPECT_NEAR((*found.accounting)[Account::SenderHost], found.verdict.lost_ms_per_step, 1);
  EXPECT_NEAR(found.accounting->sum(), 100, 0.01);
}

TEST_F(Diagnosed, AStarvedHostLosesNoPackets) {
  starve("b");
  send(lossy(100));
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanLoss);
}

TEST_F(Diagnosed, LittleCommunicationIsNoAlarm) {
  MadeTraffic way = full_link();
  way.busy_ms = 3;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_THAT(found.others, IsEmpty());
  EXPECT_GT(found.verdict.share_percent, 90);
}

TEST_F(Diagnosed, WhatSurelyMattersIsOne) {
  MadeTraffic way = full_link();
  way.busy_ms = 12;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_GE(found.verdict.lost_low_ms, 5);
  EXPECT_LT(found.verdict.lost_low_ms, found.verdict.lost_ms_per_step);
  EXPECT_GT(found.verdict.lost_high_ms, found.verdict.lost_ms_per_step);
}

TEST_F(Diagnosed, WhatMayBeLittleIsARunnerUp) {
  MadeTraffic way = full_link();
  way.busy_ms = 8;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  ASSERT_FALSE(found.others.empty());
  EXPECT_EQ(found.others.front().verdict, VerdictClass::LanBandwidth);
  EXPECT_LT(found.others.front().lost_low_ms, 5);
}

TEST_F(Diagnosed, WhatIsUnexplainedIsTheProcessorsWhereTheJobWaitsForThem) {
  MadeTraffic way = full_link();
  way.busy_ms = 2;
  send(way);
  made_.collectives(60, {0, 0});
  made_.counter(made_.node("b"), record::kThreadCpu, "1000/python3 (main)", 2e8);
  made_.counter(made_.node("b"), record::kThreadWait, "1000/python3 (main)", 5e8);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::Unknown) << "it may only be busy";
  made_.counter(made_.node("b"), record::kPressureSome, "cpu", 8e8);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Compute);
  EXPECT_EQ(found.verdict.cause, Cause::ProcessCpu);
  EXPECT_EQ(found.verdict.where.node, "b");
  ASSERT_FALSE(found.verdict.advice.empty());
  EXPECT_THAT(found.verdict.advice[0].what, testing::HasSubstr("the job's own threads on b"));
}

// Of the 60 ms that an exchange takes something is under way for 15.
TEST_F(Diagnosed, WhatIsLessThanTheUnexplainedIsNoHeadline) {
  MadeTraffic way = full_link();
  way.busy_ms = 15;
  send(way);
  made_.collectives(60, {0, 0});
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, (*found.accounting)[Account::Other], 1e-6);
  EXPECT_FALSE(found.verdict.advice.empty());
  ASSERT_FALSE(found.others.empty());
  EXPECT_EQ(found.others.front().verdict, VerdictClass::LanBandwidth);
  EXPECT_LT(found.others.front().lost_ms_per_step, found.verdict.lost_ms_per_step);
}

// 60 ms of 100 are exchanged over a full link, and 40 computed.
TEST_F(Diagnosed, SaysWhatHalfOfEachAccountWouldGain) {
  send(full_link());
  made_.collectives(60, {0, 0});
  const Diagnosis found = diagnosis();
  const auto of = [&](Account account) {
    const auto what_if = std::ranges::find(found.what_ifs, account, &WhatIf::account);
    return what_if == found.what_ifs.end() ? WhatIf{} : *what_if;
  };
  EXPECT_NEAR(of(Account::Link).gained_ms, (*found.accounting)[Account::Link] / 2, 2);
  EXPECT_NEAR(of(Account::Link).step_ms, 100 - of(Account::Link).gained_ms, 1e-6);
  EXPECT_NEAR(of(Account::Compute).gained_ms, 20, 2);
  EXPECT_EQ(of(Account::Straggler).gained_ms, 0);
}

TEST_F(Diagnosed, ShowsWhatDecidedTheMedianStep) {
  send(full_link());
  made_.collectives(60, {0, 20});
  const auto path = diagnosis().critical_path;
  ASSERT_TRUE(path);
  EXPECT_NEAR(path->length_ms, 100, 1);
  ASSERT_FALSE(path->parts.empty());
  EXPECT_EQ(path->parts.front().kind, PathKind::Computing);
  EXPECT_EQ(path->parts.front().node, "b") << "which comes later";
  EXPECT_EQ(path->parts.back().kind, PathKind::Transfer);
}

// Steps that are all alike leave little doubt; steps of which every second one waits do.
TEST_F(Diagnosed, AccountsSayWhatTheyAreUnsureBy) {
  send(full_link());
  made_.collectives(60, {0, 0});
  const Diagnosis alike = diagnosis();
  ASSERT_TRUE(alike.uncertainty);
  EXPECT_LT((*alike.uncertainty)[Account::Link], 1);
  for (auto& node : made_.data.nodes) {
    for (std::size_t step = 0; step < node.collectives.size(); step += 2) {
      record::Collective& row = node.collectives[step];
      row.own_ready_ns = row.own_ready_ns.value() + 50'000'000;
      row.peer_ready_ns = row.own_ready_ns;
    }
  }
  EXPECT_GT((*diagnosis().uncertainty)[Account::Link], 3);
  made_.data.nodes[0].steps.resize(2);
  made_.data.nodes[1].steps.clear();
  EXPECT_FALSE(diagnose(made_.data).uncertainty);
}

TEST_F(Diagnosed, WhatIsNotSureIsSaidToBeProbable) {
  Diagnosis found{.verdict = {.verdict = VerdictClass::Straggler, .confidence = 0.59}};
  EXPECT_TRUE(sentence_of(found).starts_with("probably "));
  found.verdict.confidence = 0.6;
  EXPECT_FALSE(sentence_of(found).starts_with("probably "));
}

TEST_F(Diagnosed, TheLargestComesFirst) {
  MadeTraffic way = full_link();
  way.receive_window = 0.3;
  send(way);
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
  ASSERT_EQ(found.others.size(), 1U);
  EXPECT_EQ(found.others[0].verdict, VerdictClass::ReceiverHost);
  EXPECT_GT(found.verdict.lost_ms_per_step, found.others[0].lost_ms_per_step);
}

TEST_F(Diagnosed, OneEndAloneIsEnoughButLessSure) {
  send(full_link());
  const double both = diagnosis().verdict.confidence;
  made_.lose("b");
  const Verdict verdict = diagnosis().verdict;
  EXPECT_EQ(verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_EQ(verdict.where.to, "10.0.0.2");
  EXPECT_LT(verdict.confidence, both);
}

TEST_F(Diagnosed, TheReceiversEndAloneTellsWithoutInterfaces) {
  send(full_link());
  made_.node("b").interfaces.clear();
  made_.lose("a");
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::LanBandwidth);
}

TEST_F(Diagnosed, WithoutStepsNothingIsGuessed) {
  send(full_link());
  for (NodeData& node : made_.data.nodes) {
    node.steps.clear();
  }
  const Diagnosis found = diagnosis();
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_FALSE(found.accounting);
}

TEST_F(Diagnosed, NothingAtAllIsUnknown) {
  EXPECT_EQ(diagnose({}).verdict.verdict, VerdictClass::Unknown);
  EXPECT_EQ(diagnosis().verdict.verdict, VerdictClass::Unknown);  // nothing was ever sent
  MadeRun alone;
  alone.host("a");
  EXPECT_EQ(diagnose(alone.data).verdict.verdict, VerdictClass::Unknown);
}

TEST_F(Diagnosed, HalfEmptyRowsAreSurvived) {
  send(full_link());
  for (NodeData& node : made_.data.nodes) {
    for (FlowData& flow : node.flows) {
      flow.totals = {};
      for (auto& sample : flow.sockets[0]) {
        sample = {.t_ns = sample.t_ns, .busy_us = sample.busy_us};
      }
      flow.packets = {};
    }
    node.processes.clear();
    node.exit_status.reset();
    node.steps.front().end_ns = node.steps.front().start_ns;
  }
  EXPECT_GT(diagnosis().accounting->sum(), 0);
}

TEST(DiagnosedInBulk, ThousandsOfConnectionsAreNoMatter) {
  MadeRun made({.step_ms = 100, .steps = 10});
  for (const char* name : {"a", "b", "c", "d"}) {
    made.host(name);
  }
  MadeTraffic way = full_link(10);
  for (int each = 0; each < 2000; ++each) {
    made.add_traffic(made.connect(each % 2 == 0 ? "a" : "c", each % 3 == 0 ? "b" : "d"),
                     Direction::AToB, way);
  }
  const Diagnosis found = diagnose(made.data);
  expect_sound(found);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::LanBandwidth);
}

}  // namespace
}  // namespace chokepoint::analysis
