// Tensor, pipeline and ZeRO: volumes as their papers count them, and the pipeline's time.
#include <gtest/gtest.h>

#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

Figures figures(Parallelism parallelism) {
  return {.parallelism = parallelism,
          .parameters = 1e9,
          .parameter_bytes = 2,
          .ranks = 8,
          .compute_ms = 300,
          .shape = {.layers = 12,
                    .hidden = 768,
                    .batch = 16,
                    .sequence = 1024,
                    .micro_batches = 4,
                    .activation_bytes = 2}};
}

double sent(const Figures& of) { return sent_bytes(*profile_from(of), of.ranks); }

TEST(Parallelism, IsKnownByTheNamesThatPeopleUse) {
  EXPECT_EQ(parallelism_named("DDP"), Parallelism::Data);
  EXPECT_EQ(parallelism_named("Tensor"), Parallelism::Tensor);
  EXPECT_EQ(parallelism_named("pipeline-parallel"), Parallelism::Pipeline);
  EXPECT_EQ(parallelism_named("pipeline"), Parallelism::Pipeline);
  EXPECT_EQ(parallelism_named("FSDP"), Parallelism::Zero);
  EXPECT_EQ(parallelism_named("rpc"), Parallelism::Calls);
  EXPECT_EQ(parallelism_named("DP+TP"), Parallelism::Unknown);
}

TEST(Parallelism, DataParallelSendsTwiceTheGradients) {
  EXPECT_NEAR(sent(figures(Parallelism::Data)), 2 * 2e9 * 7 / 8, 1);
}

TEST(Parallelism, ZeroSendsTwoOrThreeTimesTheParameters) {
  Figures zero = figures(Parallelism::Zero);
  for (const int stage : {1, 2}) {
    zero.zero_stage = stage;
    EXPECT_NEAR(sent(zero), 2 * 2e9 * 7 / 8, 1);
  }
  zero.zero_stage = 3;
  EXPECT_NEAR(sent(zero), 3 * 2e9 * 7 / 8, 1);
}

TEST(Parallelism, TensorParallelAsMegatronCounts) {
  const double elements = 8.0 * 16 * 1024 * 768 * 7 / 8;  // 8bsh(t−1)/t
  EXPECT_NEAR(sent(figures(Parallelism::Tensor)), 12 * elements * 2, 1);
}

TEST(Parallelism, APipelinePassesActivationsOnce) {
  EXPECT_NEAR(sent(figures(Parallelism::Pipeline)), 16.0 * 1024 * 768 * 2, 1);
  Figures tied = figures(Parallelism::Pipeline);
  tied.shape.vocabulary = 50257;
  EXPECT_NEAR(sent(tied) - sent(figures(Parallelism::Pipeline)), 50257.0 * 768 * 2, 1);
}

TEST(Parallelism, ZeroThreeHidesWhatItCanBehindItsOwnComputing) {
  Figures zero = figures(Parallelism::Zero);
  zero.overlap = 1;
  zero.zero_stage = 3;
  const Prediction slow = predict(*profile_from(zero), {.path = {.rate_mbps = 25e3}});
  const Prediction fast = predict(*profile_from(zero), {.path = {.rate_mbps = 2400e3}});
  EXPECT_NEAR(slow.exposed_ms, slow.communication_ms, slow.communication_ms * 0.3);
  EXPECT_LT(fast.exposed_ms, fast.communication_ms * 0.2);
}

constexpr Pipeline kFree{.stages = 4, .micro_batches = 8, .forward_ms = 80, .backward_ms = 160};

TEST(Pipeline, BubblesAreSoManyMicroBatches) {
  EXPECT_DOUBLE_EQ(bubble_ms(kFree), 240 * 3.0 / 8);
  EXPECT_DOUBLE_EQ(blocking_pipeline_ms(kFree), 240 * (1 + 3.0 / 8));
  EXPECT_DOUBLE_EQ(overlapped_pipeline_ms(kFree), 240 * (1 + 3.0 / 8));
}

TEST(Pipeline, AFastLinkIsHiddenBehindTheStages) {
  Pipeline pipeline = kFree;
  pipeline.wire_ms = 5;  // a stage takes 10 and 20 for each
  EXPECT_DOUBLE_EQ(overlapped_pipeline_ms(pipeline), 330 + 2 * 3 * 5);
  EXPECT_DOUBLE_EQ(blocking_pipeline_ms(pipeline), 330 + 2 * (8 + 4 - 2) * 5);
}

TEST(Pipeline, ASlowLinkSetsThePace) {
  Pipeline pipeline = kFree;
  pipeline.stages = 2;
  pipeline.wire_ms = 100;
  // The first is computed, eight pass the link, the last one is computed; both ways.
  EXPECT_DOUBLE_EQ(overlapped_pipeline_ms(pipeline), (10 + 800 + 10) + (20 + 800 + 20));
}

TEST(Pipeline, OneStageHasNobodyToWaitFor) {
  Pipeline alone = kFree;
  alone.stages = 1;
  alone.wire_ms = 100;
  EXPECT_DOUBLE_EQ(blocking_pipeline_ms(alone), 240);
}

// A caller and `workers` others, over 8 Gb/s of payload there, 16 back, and a round trip of 10 ms.
Prediction called(const CallProfile& calls, std::int64_t workers = 1, double compute_ms = 100) {
  Figures figures{.parallelism = Parallelism::Calls,
                  .ranks = workers + 1,
                  .compute_ms = compute_ms,
                  .calls = calls};
  return predict(*profile_from(figures),
                 {.path = {.payload_mbps = 8000, .rtt_ms = 10}, .back_mbps = 16'000});
}

constexpr double kHopsMs = 0.06;  // both ways, beyond the round trip

TEST(Calls, TakeTheRoundTripAndBothDirections) {
  const Prediction one = called({.request_bytes = 20e6, .answer_bytes = 10e6});
  EXPECT_NEAR(one.step_ms, 100 + 10 + kHopsMs + 20 + 5, 1e-9);
  EXPECT_NEAR(one.exposed_ms, one.communication_ms, 1e-9);
  EXPECT_EQ(one.limited_by, "throughput");
  EXPECT_NEAR(called({.request_bytes = 20e6, .answer_bytes = 10e6}, 1, 0).step_ms, 35.06, 1e-9);
}

TEST(Calls, TakeARoundTripEachWhereEachWaitsForTheOneBefore) {
  EXPECT_NEAR(called({.request_bytes = 1e6, .calls = 10}).step_ms, 100 + 10 * (10 + kHopsMs + 1),
              1e-9);
}

TEST(Calls, UnderWayTogetherHideRoundTripsUntilThePartThatIsSlowest) {
  const CallProfile calls{.request_bytes = 1e6, .calls = 10, .at_once = 2};
  // A call takes 10.06 + 1 + 10 ms, and two of them are under way.
  EXPECT_NEAR(called(calls).step_ms, 21.06 + 9 * 21.06 / 2, 1e-9);
  CallProfile many = calls;
  many.at_once = 10;
  EXPECT_NEAR(called(many).step_ms, 21.06 + 9 * 10, 1e-9) << "the worker is the slowest part";
}

TEST(Calls, ToSeveralWorkersShareTheCallersLink) {
  EXPECT_NEAR(called({.request_bytes = 20e6}, 4).step_ms, 100 + 10 + kHopsMs + 4 * 20, 1e-9);
  EXPECT_NEAR(sent_bytes(*profile_from({.parallelism = Parallelism::Calls,
                                        .ranks = 5,
                                        .compute_ms = 1,
                                        .calls = {.request_bytes = 20e6, .calls = 3}}),
                         5),
              4 * 3 * 20e6, 1);
}

TEST(Calls, TakeAMeasuredEmptyCallForTheirLatency) {
  EXPECT_NEAR(called({.request_bytes = 20e6, .empty_ms = 0.5}).step_ms, 120.5, 1e-9);
}

TEST(Calls, LeaveTheWorkOfOneProcessorToTheWorkers) {
  Figures figures{.parallelism = Parallelism::Calls,
                  .ranks = 2,
                  .steps = 10,
                  .single_time_s = 1,
                  .calls = {.request_bytes = 1}};
  EXPECT_NEAR(profile_from(figures)->compute_ms, 100, 1e-9) << "the caller computes nothing";
  figures.ranks = 5;
  EXPECT_NEAR(profile_from(figures)->compute_ms, 25, 1e-9);
}

}  // namespace
}  // namespace chokepoint::analysis
