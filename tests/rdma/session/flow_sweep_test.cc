#include "rdma/session/flow_sweep.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/rdma/session/two_hosts.h"

namespace chokepoint::rdma::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Trial of_rate(const Parameters& parameters, double mbps) {
  return {.parameters = parameters, .rounds = {{.client = {.average_mbps = mbps}}}};
}

Error failure(ErrorKind kind) { return {kind, "RDMA", "hubble", 0, "no acknowledgement in time"}; }

class FlowSweeps : public testing::Test {
 protected:
  Result<FlowSweep> sweep(int flows = 16) {
    return sweep_flows(
        {}, flows,
        [this](const Parameters& parameters) {
          labels_.push_back(parameters.flow_label);
          return test_(parameters);
        },
        [](std::uint64_t) {});
  }

  std::vector<std::uint32_t> labels_;
  RunTest test_ = [](const Parameters& parameters) { return of_rate(parameters, 10'000); };
};

TEST_F(FlowSweeps, TestEachLabelInTwoPassesOfOppositeOrder) {
  const Result<FlowSweep> swept = sweep(4);
  ASSERT_TRUE(swept);
  EXPECT_THAT(labels_, ElementsAre(1, 2, 3, 4, 4, 3, 2, 1));
  EXPECT_THAT(swept->flows, SizeIs(4));
  EXPECT_EQ(swept->flows[2].first_mbps, 10'000);
}

TEST_F(FlowSweeps, FlowsOverASlowMemberAreFound) {
  test_ = [](const Parameters& parameters) {
    return of_rate(parameters, parameters.flow_label % 4 == 1 ? 900 : 10'000);
  };
  const documents::RdmaFlows found = judged(*sweep(24));
  EXPECT_EQ(found.verdict, documents::FlowsVerdict::Found);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(found.findings[0].flow_labels, ElementsAre(1, 5, 9, 13, 17, 21));
  EXPECT_NEAR(found.findings[0].rate_mbps, 900, 1);
  EXPECT_NEAR(found.findings[0].others_rate_mbps, 10'000, 1);
  EXPECT_EQ(found.findings[0].one_of_members, 4);
}

TEST_F(FlowSweeps, AFlowThatWasSlowOnceHasTwoMoreTests) {
  test_ = [this](const Parameters& parameters) {
    const bool is_disturbed = labels_.size() == 7;
    return of_rate(parameters, parameters.flow_label % 2 == 0 || is_disturbed ? 700 : 10'000);
  };
  const Result<FlowSweep> swept = sweep(14);
  ASSERT_TRUE(swept);
  EXPECT_THAT(labels_, SizeIs(30));
  EXPECT_EQ(swept->flows[6].first_mbps, 10'000);
  ASSERT_THAT(judged(*swept).findings, SizeIs(1));
  EXPECT_THAT(judged(*swept).findings[0].flow_labels, ElementsAre(2, 4, 6, 8, 10, 12, 14));
}

TEST_F(FlowSweeps, WhatGetsSlowerWithTimeIsNoGroup) {
  double mbps = 10'000;
  test_ = [&](const Parameters& parameters) { return of_rate(parameters, mbps -= 200); };
  EXPECT_THAT(judged(*sweep()).findings, IsEmpty());
}

TEST_F(FlowSweeps, AFlowThatFailsOnADeadMemberCarriesNothing) {
  test_ = [](const Parameters& parameters) -> Result<Trial> {
    if (parameters.flow_label % 2 == 0) {
      return fail(failure(ErrorKind::Timeout));
    }
    return of_rate(parameters, 10'000);
  };
  const Result<FlowSweep> swept = sweep(16);
  ASSERT_TRUE(swept);
  EXPECT_THAT(swept->flows[1].failure, HasSubstr("no acknowledgement"));
  const documents::RdmaFlows found = judged(*swept);
  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].flows, 8U);
}

TEST_F(FlowSweeps, APathThatCarriesNothingEndsSoon) {
  test_ = [](const Parameters&) -> Result<Trial> { return fail(failure(ErrorKind::Timeout)); };
  EXPECT_FALSE(sweep());
  EXPECT_THAT(labels_, SizeIs(3));
}

TEST_F(FlowSweeps, WhatIsNoFlowsFaultEndsIt) {
  test_ = [this](const Parameters& parameters) -> Result<Trial> {
    if (labels_.size() == 5) {
      return fail(failure(ErrorKind::Refused));
    }
    return of_rate(parameters, 10'000);
  };
  const Result<FlowSweep> swept = sweep();
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().kind, ErrorKind::Refused);
}

TEST_F(FlowSweeps, AnInterruptKeepsWhatWasMeasured) {
  test_ = [this](const Parameters& parameters) {
    Trial trial = of_rate(parameters, 10'000);
    trial.interrupted = labels_.size() == 20;
    return trial;
  };
  const Result<FlowSweep> swept = sweep(16);
  ASSERT_TRUE(swept);
  EXPECT_TRUE(swept->interrupted);
  EXPECT_THAT(labels_, SizeIs(20));
  EXPECT_EQ(judged(*swept).verdict, documents::FlowsVerdict::Unknown);
  EXPECT_THAT(judged(*swept).unknown_because, HasSubstr("two tests"));
}

TEST(FlowLabels, HaveTheSourcePortsThatLinuxGivesThem) {
  EXPECT_EQ(source_port_of(1), 0xc001);
  EXPECT_EQ(source_port_of(256), 0xc100);
  EXPECT_EQ(source_port_of(0x4001), 0xc000);
  EXPECT_EQ(source_port_of(0xfffff), 0xc000 | (0x3fff ^ 0x3f));
}

class FlowsOfTwoHosts : public TwoHosts {};

TEST_F(FlowsOfTwoHosts, AreTestsOfTheirOwn) {
  Parameters parameters{.sizes = {4096}, .iterations = 20};
  const auto swept = sweep_flows(
      parameters, 3, [this](const Parameters& each) { return run(each); }, [](std::uint64_t) {});
  ASSERT_TRUE(swept) << describe(swept.error());
  EXPECT_EQ(rounds_, 6);
  EXPECT_TRUE(std::ranges::all_of(swept->flows, [](const FlowRate& flow) {
    return flow.first_mbps.value_or(0) > 0 && flow.second_mbps.value_or(0) > 0;
  }));
  EXPECT_EQ(swept->trial.parameters.flow_label, 1U) << "the last one of the second pass";
  expect_nothing_left();
}

}  // namespace
}  // namespace chokepoint::rdma::session
