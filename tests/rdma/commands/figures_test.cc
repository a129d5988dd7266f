#include "rdma/commands/figures.h"

#include <gtest/gtest.h>

namespace chokepoint::rdma {
namespace {

using session::Round;
using session::Trial;

Round round_of(verbs::Transport transport, bool both_ways) {
  Round round;
  round.plan.transport = transport;
  round.plan.both_ways = both_ways;
  round.client = {.messages = 100, .duration_s = 2, .average_mbps = 800, .messages_per_s = 50};
  round.server = {.messages = 90, .duration_s = 3, .average_mbps = 700, .messages_per_s = 45};
  return round;
}

TEST(RdmaFiguresTest, OneWayIsWhatTheActiveSideSaw) {
  const Figures figures = figures_of(round_of(verbs::Transport::Rc, false));
  EXPECT_EQ(figures.messages, 100U);
  EXPECT_EQ(figures.average_mbps, 800);
  EXPECT_EQ(figures.lost, std::nullopt);
}

TEST(RdmaFiguresTest, BothWaysIsTheSum) {
  const Figures figures = figures_of(round_of(verbs::Transport::Rc, true));
  EXPECT_EQ(figures.messages, 190U);
  EXPECT_EQ(figures.average_mbps, 1500);
  EXPECT_EQ(figures.duration_s, 3);
}

TEST(RdmaFiguresTest, WhereMessagesMayGetLostThoseThatArriveCount) {
  Round round = round_of(verbs::Transport::Uc, false);
  round.plan.operation = verbs::Operation::Send;
  EXPECT_EQ(figures_of(round).average_mbps, 700);
  EXPECT_EQ(figures_of(round).lost, 10U);
  round.plan.operation = verbs::Operation::Write;
  round.server = {};
  EXPECT_EQ(figures_of(round).average_mbps, 800) << "who is written to counts nothing";
  EXPECT_EQ(figures_of(round).lost, std::nullopt);
}

TEST(RdmaFiguresTest, WhereNothingArrivesAllIsLost) {
  Round round = round_of(verbs::Transport::Ud, false);
  round.plan.operation = verbs::Operation::Send;
  round.server = {};
  EXPECT_EQ(figures_of(round).average_mbps, std::nullopt);
  EXPECT_EQ(figures_of(round).messages, 0U);
  EXPECT_EQ(figures_of(round).lost, 100U);
}

TEST(RdmaFiguresTest, LatencyIsWhatTheActiveSideSaw) {
  Round round = round_of(verbs::Transport::Ud, false);
  round.plan.operation = verbs::Operation::Send;
  round.plan.metric = perf::Metric::Latency;
  EXPECT_EQ(figures_of(round).messages, 100U);
  EXPECT_EQ(figures_of(round).lost, std::nullopt);
}

TEST(RdmaFiguresTest, MismatchesOfBothSidesAreOneFigure) {
  Round round = round_of(verbs::Transport::Rc, true);
  EXPECT_EQ(figures_of(round).mismatches, std::nullopt);
  round.server.mismatches = 2;
  EXPECT_EQ(figures_of(round).mismatches, 2U);
  round.client.mismatches = 1;
  EXPECT_EQ(figures_of(round).mismatches, 3U);
}

Trial trial_over(const std::string& gid, int mtu) {
  Trial trial;
  trial.client.ethernet = trial.server.ethernet = true;
  trial.client.rate = trial.server.rate = "100 Gb/sec (4X EDR)";
  trial.client.gid = session::gid_of(net::Address::parse(gid).value());
  trial.agreement.mtu_bytes = mtu;
  return trial;
}

TEST(RdmaFiguresTest, TheCeilingIsTheLineLessTheHeadersOfEachPacket) {
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 4096), 65536).value(), 98'037, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 1024), 65536).value(), 92'586, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("2001:db8::1", 4096), 65536).value(), 97'570, 1);
  EXPECT_NEAR(ceiling_mbps(trial_over("10.0.0.1", 4096), 82).value(), 50'000, 1);
}

TEST(RdmaFiguresTest, TheSlowerPortCounts) {
  Trial trial = trial_over("10.0.0.1", 4096);
  trial.server.rate = "25 Gb/sec (1X EDR)";
  EXPECT_NEAR(ceiling_mbps(trial, 65536).value(), 24'509, 1);
  trial.parameters.both_ways = true;
  EXPECT_NEAR(ceiling_mbps(trial, 65536).value(), 49'018, 1);
  trial.server.rate.clear();
  EXPECT_EQ(ceiling_mbps(trial, 65536), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::rdma
