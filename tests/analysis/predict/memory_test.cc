#include "analysis/predict/memory.h"

#include <gtest/gtest.h>

#include "tests/analysis/predict/golden_figures.h"

namespace chokepoint::analysis {
namespace {

double gb_of(const Figures& figures, bool is_recomputed = false) {
  return memory_of({.figures = figures, .is_recomputed = is_recomputed})->total() / 1e9;
}

// Rajbhandari et al. 2020, figure 1: 7.5 G parameters, 64 ranks, Adam in mixed precision.
TEST(Memory, IsThatOfTheZeroPaper) {
  Figures zero{.parallelism = Parallelism::Zero,
               .zero_stage = 1,
               .parameters = 7.5e9,
               .parameter_bytes = 2,
               .ranks = 64};
  EXPECT_NEAR(gb_of(zero), 31.4, 0.05);
  zero.zero_stage = 2;
  EXPECT_NEAR(gb_of(zero), 16.6, 0.05);
  zero.zero_stage = 3;
  EXPECT_NEAR(gb_of(zero), 1.9, 0.05);
  zero.parallelism = Parallelism::Data;
  zero.ranks = 1;
  EXPECT_NEAR(gb_of(zero), 120, 0.05);
  zero.ranks = 64;  // and DDP's buckets
  EXPECT_NEAR(gb_of(zero), 135, 0.05);
}

TEST(Memory, OptimizersKeepWhatTheyNeed) {
  const Figures full{.parameters = 1e9, .ranks = 1};  // FP32
  const auto optimizer_gb = [&](Optimizer optimizer, const Figures& figures) {
    return memory_of({.figures = figures, .optimizer = optimizer})->optimizer / 1e9;
  };
  EXPECT_DOUBLE_EQ(optimizer_gb(Optimizer::Adam, full), 8);
  EXPECT_DOUBLE_EQ(optimizer_gb(Optimizer::Momentum, full), 4);
  EXPECT_DOUBLE_EQ(optimizer_gb(Optimizer::Plain, full), 0);
  Figures half = full;
  half.parameter_bytes = 2;  // weights are kept in FP32 beside
  EXPECT_DOUBLE_EQ(optimizer_gb(Optimizer::Adam, half), 12);
  EXPECT_DOUBLE_EQ(optimizer_gb(Optimizer::Plain, half), 4);
}

// GPT-3: 96 layers of 12288, 96 heads, samples of 2048 tokens.
Figures gpt3(Parallelism parallelism, std::int64_t ranks) {
  return {.parallelism = parallelism,
          .parameters = 175e9,
          .parameter_bytes = 2,
          .ranks = ranks,
          .shape = {.layers = 96,
                    .hidden = 12288,
                    .batch = 1,
                    .sequence = 2048,
                    .heads = 96,
                    .activation_bytes = 2}};
}

// Korthikanti et al. 2022: sbhL(34 + 5as/h), and with tensor parallelism sbhL(10 + 24/t + 5as/ht).
TEST(Memory, ActivationsAreThoseOfTheRecomputationPaper) {
  const double sbhl = 2048.0 * 12288 * 96;
  EXPECT_NEAR(*memory_of({.figures = gpt3(Parallelism::Data, 1)})->activations, sbhl * (34 + 80),
              1);
  EXPECT_NEAR(*memory_of({.figures = gpt3(Parallelism::Tensor, 8)})->activations,
              sbhl * (10 + 24.0 / 8 + 80.0 / 8), 1);
  Figures flash = gpt3(Parallelism::Data, 1);
  flash.shape.heads = 0;
  EXPECT_NEAR(*memory_of({.figures = flash})->activations, sbhl * 34, 1);
  const double recomputed = *memory_of({.figures = flash, .is_recomputed = true})->activations;
  EXPECT_NEAR(recomputed, sbhl * 2 + sbhl / 96 * 34, 1);
}

// The first of four stages has four micro-batches under way, the last one has the logits.
TEST(Memory, APipelinesFirstOrLastStageNeedsMost) {
  Figures stages = gpt3(Parallelism::Pipeline, 4);
  stages.shape.heads = 0;
  stages.shape.batch = 8;
  stages.shape.micro_batches = 8;
  const double of_batch = 2048.0 * 12288 * 24 * 34;
  EXPECT_NEAR(*memory_of({.figures = stages})->activations, 4 * of_batch, 1);
  EXPECT_EQ(memory_of({.figures = stages})->logits, 0);
  EXPECT_NEAR(memory_of({.figures = stages})->weights, 175e9 / 4 * 2, 1);
  stages.ranks = 2;
  stages.shape.vocabulary = 100e6;
  EXPECT_NEAR(*memory_of({.figures = stages})->activations, 2 * of_batch, 1);
  EXPECT_NEAR(memory_of({.figures = stages})->logits, 2048.0 * 100e6 * 8, 1);
}

// "You've got a few GPUs, now what?!": peak GB of GPT-2 with batches of 16, which out of memory
// ends on its A40 of 48 GB. Assumed: mixed precision, Adam, attention that keeps no matrix.
TEST(Memory, OfGpt2OnTheNanoCluster) {
  const auto gpt2 = [](double parameters, double layers, double hidden) {
    return gb_of({.parameters = parameters,
                  .ranks = 1,
                  .shape = {.layers = layers,
                            .hidden = hidden,
                            .batch = 16,
                            .sequence = 1024,
                            .vocabulary = 50257,
                            .activation_bytes = 2}});
  };
  EXPECT_NEAR(off_percent(gpt2(124e6, 12, 768), 13.68), 2, 1);
  EXPECT_NEAR(off_percent(gpt2(355e6, 24, 1024), 29.94), -11, 1);
  EXPECT_NEAR(off_percent(gpt2(774e6, 36, 1280), 46.31), 0, 1);
  EXPECT_GT(gpt2(1500e6, 48, 1600), 48);
}

TEST(Memory, WithoutSizesOnlyTheStateIsKnown) {
  const auto memory = memory_of({.figures = {.parameters = 11e6, .ranks = 1}});
  EXPECT_FALSE(memory->activations);
  EXPECT_NEAR(memory->total(), 11e6 * 16, 1);
  EXPECT_FALSE(memory_of({.figures = {.ranks = 1}}));
  EXPECT_NEAR(parameters_of({.shape = {.layers = 12, .hidden = 768, .vocabulary = 50257}}), 124e6,
              1e6);
}

}  // namespace
}  // namespace chokepoint::analysis
