#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/findings.h"
#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr double kLineBytes = 12.5e9;  // a second, of a port of 100 Gb/s

// Two hosts with a port of 100 Gb/s each that carries a tenth of that; steps of 100 ms.
class Rdma : public testing::Test {
 protected:
  Rdma() {
    made_.host("a", {.interface = "ens1"});
    made_.host("b", {.interface = "ens1"});
    for (const char* node : {"a", "b"}) {
      say(node, "rate", "100 Gb/sec (4X EDR)");
      say(node, "netdev", "ens1");
      carries(node, kLineBytes / 10);
    }
  }
  void say(const char* node, const char* key, const char* value) {
    made_.node(node).facts.push_back(
        {.category = "rdma", .subject = "mlx5_0/1", .key = key, .value = value});
  }
  void carries(const char* node, double bytes_per_s) {
    std::erase_if(made_.node(node).series,
                  [](const SeriesData& series) { return series.row.subject == "mlx5_0/1"; });
    count(node, "sent_bytes", bytes_per_s);
    count(node, "received_bytes", bytes_per_s);
    count(node, "sent_packets", bytes_per_s / 4096);
  }
  void count(const char* node, const std::string& name, double per_s) {
    made_.counter(made_.node(node), std::string(record::kRdmaPrefix) + name, "mlx5_0/1", per_s);
  }
  void nic(const char* node, const std::string& name, double per_s) {
    made_.counter(made_.node(node), std::string(record::kNicPrefix) + name, "ens1", per_s);
  }
  Verdict verdict() { return diagnose(made_.data).verdict; }

  MadeRun made_;
};

// What such a job sends by TCP are a few words at its start.
TEST_F(Rdma, AJobIsNotCalledFineForItsFewWordsByTcp) {
  const std::size_t ab = made_.connect("a", "b");
  made_.add_traffic(ab, record::Direction::AToB, {.busy_ms = 0.5, .mbps = 1});
  made_.counter(made_.node("a"), record::kJobSentBytes, "ens1", 1000);
  const Diagnosis diagnosis = diagnose(made_.data);
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Unknown);
  EXPECT_THAT(diagnosis.verdict.evidence, testing::Not(IsEmpty()));
  EXPECT_NEAR(diagnosis.accounting->sum(), 100, 0.01);
}

TEST_F(Rdma, WhoseBytesNeedLittleOfTheLineIsComputing) {
  carries("a", kLineBytes / 50);
  carries("b", kLineBytes / 50);
  EXPECT_EQ(verdict().verdict, VerdictClass::Compute);
}

TEST_F(Rdma, OfStorageBesideAJobOnSocketsIsNotTheJobs) {
  const std::size_t ab = made_.connect("a", "b");
  made_.add_traffic(ab, record::Direction::AToB, full_link());
  made_.counter(made_.node("a"), record::kJobSentBytes, "ens1", kLineBytes / 10);
  EXPECT_EQ(verdict().verdict, VerdictClass::LanBandwidth);
}

TEST_F(Rdma, TimeInWhichAPortIsPausedIsLost) {
  nic("a", "received_pause_us", 300'000);
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::RdmaCongestion);
  EXPECT_EQ(found.cause, Cause::Pauses);
  EXPECT_EQ(found.where.node, "a");
  EXPECT_EQ(found.where.interface, "mlx5_0/1");
  EXPECT_NEAR(found.lost_ms_per_step, 30, 0.1);
}

TEST_F(Rdma, ThePeerThatAsksForPausesIsNamed) {
  nic("a", "received_pause_us", 300'000);
  nic("b", "sent_pause_us", 290'000);
  const Verdict found = verdict();
  EXPECT_EQ(found.cause, Cause::ReceiverPauses);
  EXPECT_EQ(found.where.node, "b");
}

TEST_F(Rdma, SignsWithoutATimeAreHintsAndNoVerdict) {
  count("b", "out_of_sequence", 500);
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::Unknown);
  EXPECT_THAT(found.evidence,
              testing::Contains(testing::Field(&Evidence::what, HasSubstr("lost"))));
}

// A card's requester counts one loss as a NAK and as what it sends again; a time-out costs 67 ms.
TEST_F(Rdma, TimeOutsOfACardAreLossByAtLeastWhatTheyLast) {
  count("a", "packet_seq_err", 300);
  count("a", "adaptive_retransmissions", 400);
  count("a", "ack_timeouts", 3);
  count("b", "out_of_sequence", 380);
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::RdmaLoss);
  EXPECT_EQ(found.verdict.where.from, "a");
  EXPECT_EQ(found.verdict.where.to, "b");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 3 * 67 / 10.0, 0.1);
  EXPECT_NEAR(found.accounting->sum(), 100, 0.01);
}

// The library's collectives tell what computing does not hide: 60 ms, of which the line needs 10.
TEST_F(Rdma, WithCollectivesLossTakesWhatTheLineDoesNotNeed) {
  made_.collectives(60, {0, 0});
  count("b", "out_of_sequence", 500);
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::RdmaLoss);
  EXPECT_EQ(found.verdict.where.node, "b");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 50, 1);
  EXPECT_NEAR((*found.accounting)[Account::Link], 10, 0.1);
  EXPECT_NEAR(found.accounting->sum(), 100, 0.01);
}

TEST_F(Rdma, WithCollectivesNotificationsAreCongestion) {
  made_.collectives(60, {0, 0});
  count("a", "cnp_handled", 5000);
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::RdmaCongestion);
  EXPECT_EQ(found.cause, Cause::Ecn);
  EXPECT_EQ(found.where.node, "a");
}

// The receiver sees marks and asks the sender to slow down, and the network pauses it.
TEST_F(Rdma, WithCollectivesAllSignsOfCongestionTogether) {
  made_.collectives(60, {0, 0});
  count("b", "ecn_marked", 9000);
  count("b", "cnp_sent", 3000);
  count("a", "cnp_handled", 3000);
  nic("a", "received_pauses", 400);
  nic("a", "received_pause_us", 50'000);
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::RdmaCongestion);
  EXPECT_EQ(found.cause, Cause::Pauses);
  EXPECT_EQ(found.where.node, "a");
  EXPECT_NEAR(found.lost_ms_per_step, 50, 1);
}

TEST_F(Rdma, PausesWithoutATimeAreSignsOfCongestion) {
  made_.collectives(60, {0, 0});
  nic("a", "received_pauses", 5000);
  EXPECT_EQ(verdict().verdict, VerdictClass::RdmaCongestion);
}

TEST_F(Rdma, AFewSignsAmongMillionsOfPacketsAreNone) {
  made_.collectives(60, {0, 0});
  count("a", "cnp_handled", 1);
  count("a", "out_of_sequence", 1);
  EXPECT_EQ(verdict().verdict, VerdictClass::Unknown);
}

TEST_F(Rdma, AFullLineIsFull) {
  carries("a", kLineBytes * 0.6);
  made_.collectives(60, {0, 0});
  const Verdict found = verdict();
  EXPECT_EQ(found.verdict, VerdictClass::LanBandwidth);
  EXPECT_NEAR(found.lost_ms_per_step, 60, 0.5);
}

TEST_F(Rdma, ARateThatNobodyUnderstandsIsNoLine) {
  made_.node("a").facts.clear();
  made_.node("b").facts.clear();
  say("a", "rate", "fast");
  EXPECT_EQ(verdict().verdict, VerdictClass::Unknown);
}

}  // namespace
}  // namespace chokepoint::analysis
