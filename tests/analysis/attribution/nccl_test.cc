// Jobs on NCCL, as records tell of them.
#include <gmock/gmock.h>

#include "analysis/attribution/diagnose.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class NcclJob : public testing::Test {
 protected:
  NcclJob() {
    made_.host("a", {.speed_mbps = 1'000});
    made_.host("b", {.speed_mbps = 1'000});
  }
  void exchange(double took_ms, const std::vector<double>& late_ms) {
    made_.collectives(took_ms, late_ms);
    std::int64_t rank = 0;
    for (NodeData& node : made_.data.nodes) {
      for (record::Collective& row : node.collectives) {
        row.source = record::CollectiveSource::Nccl;
        row.rank = rank;
        row.gpu_wait_ns = 1'000;
        row.network_wait_ns = 8'000;
        row.peer_wait_ns = 600;
        row.flush_wait_ns = 400;
      }
      ++rank;
    }
  }
  Diagnosis found() { return diagnose(made_.data); }

  MadeRun made_;
};

// 200 ms in one rank's backward pass: every rank's takes as long, and only the order of arrival
// tells.
TEST_F(NcclJob, WhoComesLateIsNamedByTheOrderOfArrival) {
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, {.busy_ms = 3, .mbps = 300});
  exchange(3, {0, 40});
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::Straggler);
  EXPECT_EQ(diagnosis.verdict.where.node, "b");
  EXPECT_EQ(diagnosis.verdict.where.rank, 1);
  EXPECT_NEAR(diagnosis.verdict.lost_ms_per_step, 40, 1);
}

TEST_F(NcclJob, AFullLinkIsNamedWithWhatNcclWaitedFor) {
  MadeTraffic way = full_link();
  way.busy_ms = 60;
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, way);
  exchange(60, {0, 0});
  const Diagnosis diagnosis = found();
  EXPECT_EQ(diagnosis.verdict.verdict, VerdictClass::LanBandwidth);
  EXPECT_THAT(diagnosis.verdict.evidence,
              testing::Contains(testing::AllOf(
                  testing::Field(&Evidence::what, testing::HasSubstr("for the network")),
                  testing::Field(&Evidence::value, testing::Optional(testing::DoubleNear(80, 0.1))),
                  testing::Field(&Evidence::from, testing::HasSubstr("network_wait_ns")))));
}

TEST_F(NcclJob, WhereTooFewArrivalsAreToldItSaysWhatWouldHelp) {
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, {.busy_ms = 3, .mbps = 300});
  exchange(3, {0, 40});
  EXPECT_THAT(found().missing, Not(Contains(HasSubstr("CHOKEPOINT_NCCL_WINDOW"))));
  for (NodeData& node : made_.data.nodes) {
    for (record::Collective& row : node.collectives) {
      row.own_ready_ns = row.peer_ready_ns = {};
    }
  }
  const Diagnosis diagnosis = found();
  EXPECT_THAT(diagnosis.missing, Contains(HasSubstr("CHOKEPOINT_NCCL_WINDOW")));
  EXPECT_NE(diagnosis.verdict.verdict, VerdictClass::Straggler);
}

TEST_F(NcclJob, WithoutWaitsNothingIsSaidOfThem) {
  MadeTraffic way = full_link();
  made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, way);
  made_.collectives(60, {0, 0});
  for (const Evidence& each : found().verdict.evidence) {
    EXPECT_EQ(each.what.find("NCCL"), std::string::npos) << each.what;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
