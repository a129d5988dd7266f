// Pipelines played twice by tests/analysis/phases/pipelines.h: what the second one takes is what a
// replay of the first with the second's messages or lateness has to say.
#include <gtest/gtest.h>

#include "analysis/replay/replay.h"
#include "base/math/tcp_rate.h"
#include "tests/analysis/phases/pipelines.h"

namespace chokepoint::analysis {
namespace {

// Of 1 MB each.
double rate_mbps(double message_ms) { return 8e6 / message_ms / 1000; }

double line_mbps(double message_ms) {
  return rate_mbps(message_ms) * math::kFrameBytes / math::kSegmentBytes;
}

std::optional<Replay> replay(const PipelinePlan& plan) {
  StepLine steps;
  steps.settled = steps.all = pipeline_steps(plan);
  const Exchanges exchanges = pipeline(plan);
  Phases phases{.source = PhaseSource::Library, .step_ms = pipeline_step_ms(plan)};
  const std::vector<Meeting> meetings = meetings_of(exchanges);
  phases.late = late_senders(exchanges, meetings);
  return Replay::of(
      {.exchanges = exchanges, .meetings = meetings, .steps = steps, .phases = phases},
      {.path = {.rate_mbps = rate_mbps(plan.message_ms)}, .is_full = true});
}

double on_a_link_of(const PipelinePlan& plan, double message_ms) {
  return *replay(plan)->step_ms({.path = {.rate_mbps = line_mbps(message_ms)}});
}

TEST(ReplayedPipelineTest, TakesWhatItTookWhereNothingChanges) {
  const PipelinePlan plan;
  ASSERT_TRUE(replay(plan));
  EXPECT_NEAR(*replay(plan)->step_ms({}), pipeline_step_ms(plan), 1e-9);
}

class OtherLinkTest : public testing::TestWithParam<std::size_t> {};

TEST_P(OtherLinkTest, IsTheOtherPipeline) {
  const std::size_t stages = GetParam();
  const PipelinePlan slow{.stages = stages, .message_ms = 12};
  const PipelinePlan fast{.stages = stages, .message_ms = 2};
  const double slow_ms = pipeline_step_ms(slow);
  const double fast_ms = pipeline_step_ms(fast);
  EXPECT_NEAR(on_a_link_of(slow, 2) / fast_ms, 1, 0.03);
  EXPECT_NEAR(on_a_link_of(fast, 12) / slow_ms, 1, 0.03);
}

INSTANTIATE_TEST_SUITE_P(Stages, OtherLinkTest, testing::Values(2, 3, 4));

// On a full link a sender's messages leave without a pause, and the record has several in a row.
TEST(ReplayedPipelineTest, NotWhereRowsHoldSeveralMessages) {
  const PipelinePlan plan;
  Exchanges exchanges = pipeline(plan);
  for (auto& of_rank : exchanges) {
    for (std::size_t place = 0; place < of_rank.size(); place += 4) of_rank[place].bytes *= 3;
  }
  StepLine steps;
  steps.settled = steps.all = pipeline_steps(plan);
  const Phases phases{.source = PhaseSource::Library, .step_ms = pipeline_step_ms(plan)};
  EXPECT_FALSE(Replay::of({.exchanges = exchanges,
                           .meetings = meetings_of(exchanges),
                           .steps = steps,
                           .phases = phases},
                          {}));
}

// Of a stage's lateness counts what its usual computing for both directions leaves.
TEST(ReplayedPipelineTest, WithoutItsLateStage) {
  const PipelinePlan late{.late_stage = 1, .late_ms = 60};
  const PipelinePlan well{};
  EXPECT_NEAR(*replay(late)->step_ms({.late_times = 0}) / pipeline_step_ms(well), 1, 0.06);
}

}  // namespace
}  // namespace chokepoint::analysis
