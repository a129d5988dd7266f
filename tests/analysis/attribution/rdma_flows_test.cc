// RDMA whose packets pass the kernel, as those of a device in software do: loss and congestion as
// the wire shows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/diagnose.h"
#include "analysis/attribution/rdma_traffic.h"
#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;

constexpr double kBinMs = 10;

// Steps of 100 ms of 20: a computes for 40 ms, sends to b for 20 ms, waits for 30 ms, and sends a
// half of it again in the last 10 ms.
class RoceFlows : public testing::Test {
 protected:
  RoceFlows() {
    for (const char* node : {"a", "b"}) {
      made_.host(node);
      say(node, "rxe0", "in_software", "yes");
      say(node, "rxe0/1", "rate", "2.5 Gb/sec (1X SDR)");
      say(node, "rxe0/1", "netdev", "eth0");
      count(node, "sent_packets", 20'000);
      count(node, "received_packets", 20'000);
    }
    ab_ = roce("a", "b");
    ba_ = roce("b", "a");
  }
  void say(const char* node, const char* subject, const char* key, const char* value) {
    made_.node(node).facts.push_back(
        {.category = "rdma", .subject = subject, .key = key, .value = value});
  }
  void count(const char* node, const std::string& name, double per_s) {
    made_.counter(made_.node(node), std::string(record::kRdmaPrefix) + name, "rxe0/1", per_s);
  }
  std::size_t roce(const char* a, const char* b) {
    const std::size_t connection = made_.connect(a, b);
    for (const auto& end : made_.data.connections[connection].ends) {
      made_.data.nodes[end->node].flows[end->flow].row.protocol = "roce";
    }
    return connection;
  }
  // In every step, a bin that ends at this time of it; seen by both ends.
  void passes(std::size_t connection, double end_ms, const record::FlowSample& like) {
    for (const auto& end : made_.data.connections[connection].ends) {
      auto& samples = made_.data.nodes[end->node].flows[end->flow].packets[0];
      for (int step = 0; step < 20; ++step) {
        record::FlowSample sample = like;
        sample.t_ns =
            made_.span().start_ns + static_cast<std::int64_t>((step * 100 + end_ms) * 1e6);
        sample.bin_ns = static_cast<std::int64_t>(kBinMs * 1e6);
        samples.push_back(sample);
      }
      std::ranges::sort(samples, {}, &record::FlowSample::t_ns);
    }
  }
  static record::FlowSample data(std::int64_t packets, std::int64_t again = 0) {
    return {.packets = packets,
            .payload_bytes = packets * 1024,
            .retransmitted_packets = again,
            .retransmitted_bytes = again * 1024,
            .out_of_order = 0,
            .duplicate_acks = 0,
            .congestion_marks = 0};
  }
  static record::FlowSample answers(std::int64_t naks) {
    return {.packets = 10, .payload_bytes = 0, .duplicate_acks = naks};
  }
  void lose() {
    passes(ab_, 50, data(100));
    passes(ab_, 60, data(100));
    passes(ab_, 100, data(100, 50));
    passes(ba_, 60, answers(2));
  }

  MadeRun made_;
  std::size_t ab_ = 0;
  std::size_t ba_ = 0;
};

TEST_F(RoceFlows, LossIsWhatWasWaitedForAndSentAgain) {
  lose();
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::RdmaLoss);
  EXPECT_EQ(found.verdict.where.from, "a");
  EXPECT_EQ(found.verdict.where.to, "b");
  EXPECT_EQ(found.verdict.where.direction, "");
  EXPECT_EQ(found.verdict.where.interface, "rxe0/1");
  EXPECT_NEAR(found.verdict.lost_ms_per_step, 30 + kBinMs / 2, 0.1);
  EXPECT_NEAR((*found.accounting)[Account::Compute], 40, 0.1);
  EXPECT_NEAR(found.accounting->sum(), 100, 0.01);
  EXPECT_THAT(found.verdict.evidence,
              Contains(Field(&Evidence::what, HasSubstr("the receiver missed"))));
}

// Nothing tells what 60 ms of sending would take at best: that is no reason to be silent about
// loss.
TEST_F(RoceFlows, LossIsToldBesideTheSendingThatNobodyCanJudge) {
  for (double end_ms = 30; end_ms <= 80; end_ms += kBinMs) {
    passes(ab_, end_ms, data(100));
  }
  passes(ab_, 100, data(100, 50));
  passes(ba_, 80, answers(2));
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::RdmaLoss);
  EXPECT_NEAR(found.verdict.lost_ms_per_step, kBinMs + kBinMs / 2, 0.1);
  EXPECT_GT((*found.accounting)[Account::Other], found.verdict.lost_ms_per_step);
}

// A host that answers late makes the other side send again; nothing was missed.
TEST_F(RoceFlows, SendingAgainWithoutAnythingMissingIsNoLoss) {
  passes(ab_, 60, data(100));
  passes(ab_, 100, data(100, 50));
  count("a", "retransmissions", 50);
  count("b", "duplicate_request", 500);
  EXPECT_NE(diagnose(made_.data).verdict.verdict, VerdictClass::RdmaLoss);
}

TEST_F(RoceFlows, BothWaysWhereBothLose) {
  lose();
  passes(ba_, 100, data(100, 50));
  passes(ab_, 70, answers(1));
  const Where where = diagnose(made_.data).verdict.where;
  EXPECT_EQ(where.direction, "both");
}

TEST_F(RoceFlows, MarkedPacketsAreCongestion) {
  record::FlowSample marked = data(100);
  marked.congestion_marks = 10;
  for (const double end_ms : {50, 60, 70, 80, 90, 100}) {
    passes(ab_, end_ms, marked);
  }
  const Verdict found = diagnose(made_.data).verdict;
  EXPECT_EQ(found.verdict, VerdictClass::RdmaCongestion);
  EXPECT_EQ(found.cause, Cause::Ecn);
  EXPECT_EQ(found.where.from, "a");
  EXPECT_EQ(found.where.to, "b");
  EXPECT_NEAR(found.lost_ms_per_step, 60, 0.1);
}

TEST_F(RoceFlows, CongestionLastsAsLongAsPacketsAreMarked) {
  record::FlowSample marked = data(100);
  marked.congestion_marks = 10;
  passes(ab_, 50, data(100));
  passes(ab_, 60, marked);
  passes(ab_, 70, marked);
  EXPECT_NEAR(diagnose(made_.data).verdict.lost_ms_per_step, 20, 0.1);
}

// NCCL opens several queue pairs between two hosts.
TEST_F(RoceFlows, QueuePairsSideBySideShareTheTime) {
  lose();
  const std::size_t beside = roce("a", "b");
  passes(beside, 50, data(100));
  passes(beside, 60, data(100));
  passes(beside, 100, data(100, 50));
  EXPECT_NEAR(diagnose(made_.data).verdict.lost_ms_per_step, 30 + kBinMs / 2, 0.1);
}

TEST_F(RoceFlows, MarksOfQueuePairsSideBySideAreOneCongestion) {
  record::FlowSample marked = data(100);
  marked.congestion_marks = 10;
  for (const std::size_t connection : {ab_, roce("a", "b")}) {
    for (const double end_ms : {50, 60, 70, 80}) {
      passes(connection, end_ms, end_ms > 60 ? marked : data(100));
    }
  }
  EXPECT_NEAR(diagnose(made_.data).verdict.lost_ms_per_step, 20, 0.1);
}

TEST_F(RoceFlows, ANameOfARateIsNoLine) {
  for (const double end_ms : {50, 60, 70, 80, 90, 100}) {
    passes(ab_, end_ms, data(2000));
  }
  const Diagnosis found = diagnose(made_.data);
  EXPECT_EQ(found.verdict.verdict, VerdictClass::Unknown);
  EXPECT_EQ((*found.accounting)[Account::Link], 0);
}

}  // namespace
}  // namespace chokepoint::analysis
