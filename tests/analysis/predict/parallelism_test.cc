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

}  // namespace
}  // namespace chokepoint::analysis
