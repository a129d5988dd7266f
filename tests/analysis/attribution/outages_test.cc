// Losses beside an interface that went down: network.cc and hosts.cc in one diagnosis.
#include <gtest/gtest.h>

#include "analysis/attribution/network.h"
#include "base/record/names.h"
#include "tests/analysis/attribution/made_scene.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

class Outages : public testing::Test {
 protected:
  Outages() {
    made_.host("a");
    made_.host("b");
    made_.add_traffic(made_.connect("a", "b"), record::Direction::AToB, full_link());
  }
  Verdict explained() {
    Verdict verdict{.verdict = VerdictClass::LanLoss, .cause = Cause::Loss};
    const MadeScene made(made_.data);
    explain_loss(made.input, verdict);
    return verdict;
  }
  void stretch_step(std::size_t number, std::int64_t by_ns) {
    for (NodeData& node : made_.data.nodes) {
      for (std::size_t step = number; step < node.steps.size(); ++step) {
        node.steps[step].start_ns += step > number ? by_ns : 0;
        node.steps[step].end_ns += by_ns;
      }
    }
  }
  std::int64_t middle_ns() const { return (made_.span().start_ns + made_.span().end_ns) / 2; }

  MadeRun made_;
};

TEST_F(Outages, LossIsLossWhereNothingElseHappened) { EXPECT_EQ(explained().cause, Cause::Loss); }

TEST_F(Outages, AnInterfaceThatWentDownExplainsIt) {
  made_.node("b").events.push_back(
      {.t_ns = middle_ns(), .kind = std::string(record::kInterfaceDown), .subject = "eth0"});
  const Verdict verdict = explained();
  EXPECT_EQ(verdict.cause, Cause::InterfaceFlap);
  EXPECT_EQ(verdict.where.node, "b");
  EXPECT_EQ(verdict.where.interface, "eth0");
  EXPECT_FALSE(verdict.evidence.empty());
}

TEST_F(Outages, ADetailThatMakesNoSenseIsPassedOver) {
  for (const std::string& detail :
       {std::string(R"({"enabled":"no"})"), std::string(R"({"enabled":[]})"), std::string("[3]"),
        std::string(300'000, '[')}) {
    made_.node("b").events.assign(1, {.t_ns = middle_ns(),
                                      .kind = std::string(record::kInterfaceDown),
                                      .subject = "eth0",
                                      .detail = detail});
    EXPECT_EQ(explained().cause, Cause::InterfaceFlap) << detail.substr(0, 40);
  }
}

TEST_F(Outages, OneThatWentDownAfterwardsDoesNot) {
  made_.node("b").events.push_back({.t_ns = made_.span().end_ns + 1'000'000'000,
                                    .kind = std::string(record::kInterfaceDown),
                                    .subject = "eth0"});
  EXPECT_EQ(explained().cause, Cause::Loss);
}

TEST_F(Outages, OneStepThatTookNearlyAllIsACut) {
  stretch_step(12, 3'000'000'000);
  EXPECT_EQ(explained().cause, Cause::LinkCut);
}

TEST_F(Outages, OneLongStepIsNoneWherePacketsGetLostInAll) {
  for (record::FlowSample& sample : made_.node("a").flows.front().packets[0]) {
    sample.retransmitted_packets = 1;
  }
  stretch_step(10, 3'000'000'000);
  EXPECT_EQ(explained().cause, Cause::Loss);
}

TEST_F(Outages, ManyLongStepsAreNone) {
  for (std::size_t step = 2; step < 20; step += 2) {
    stretch_step(step, 700'000'000);
  }
  EXPECT_EQ(explained().cause, Cause::Loss);
}

TEST_F(Outages, AnotherCardThatWentDownIsNotTheJobs) {
  made_.node("b").events.push_back(
      {.t_ns = middle_ns(), .kind = std::string(record::kInterfaceGone), .subject = "veth12"});
  EXPECT_EQ(explained().cause, Cause::Loss);
}

TEST_F(Outages, FewStepsTellNothing) {
  for (NodeData& node : made_.data.nodes) {
    node.steps.resize(2);
  }
  EXPECT_EQ(explained().cause, Cause::Loss);
  for (NodeData& node : made_.data.nodes) {
    node.steps.clear();
  }
  EXPECT_EQ(explained().cause, Cause::Loss);
}

}  // namespace
}  // namespace chokepoint::analysis
