// Scaling factors: which row stands for one GPU, and what comes of it.
#include <gtest/gtest.h>

#include "analysis/compare/compare.h"
#include "tests/analysis/compare/made_comparison.h"

namespace chokepoint::analysis {
namespace {

ComparedRun on(const std::string& setup, std::int64_t gpus, const std::string& batch,
               double samples_per_s) {
  ComparedRun run = made_run({{"setup", setup}, {"batch", batch}}, 100);
  run.gpus = gpus;
  set(run, Figure::SamplesPerS, samples_per_s);
  return run;
}

std::optional<double> factor(const Comparison& comparison, const std::string& name) {
  for (const Group& group : comparison.groups) {
    if (group.name == name) {
      return group[Figure::ScalingFactor] ? std::optional(group[Figure::ScalingFactor]->mean)
                                          : std::nullopt;
    }
  }
  return std::nullopt;
}

// ResNet-18: 2x2 is 16 % faster than 1x2 and 1x2 scales to 0.9, each batch by itself.
TEST(Scaling, EachBatchByItself) {
  const Comparison comparison =
      *compare({on("1x1", 1, "32", 2000), on("1x2", 2, "32", 1500), on("1x1", 1, "2048", 6200),
                on("1x2", 2, "2048", 11'160), on("2x2", 4, "2048", 12'946)},
               {});
  EXPECT_NEAR(*factor(comparison, "1x1 32"), 1, 1e-12);
  EXPECT_NEAR(*factor(comparison, "1x2 32"), 0.375, 1e-12);
  EXPECT_NEAR(*factor(comparison, "1x2 2048"), 0.9, 1e-12);
  EXPECT_NEAR(*factor(comparison, "2x2 2048"), 0.522, 1e-3);
}

TEST(Scaling, WithoutOneGpuThereIsNone) {
  const Comparison comparison = *compare({on("1x2", 2, "32", 1500), on("2x2", 4, "32", 2000)}, {});
  EXPECT_FALSE(factor(comparison, "1x2"));
  EXPECT_FALSE(factor(comparison, "2x2"));
}

TEST(Scaling, ABaselineStandsForOneGpu) {
  const Comparison comparison = *compare({on("1x2", 2, "32", 1500), on("2x2", 4, "32", 2400)},
                                         {.baseline = Condition{{"setup", "1x2"}}});
  EXPECT_NEAR(*factor(comparison, "1x2"), 1, 1e-12);
  EXPECT_NEAR(*factor(comparison, "2x2"), 0.8, 1e-12);
}

// One GPU knows no parallelism; where rows name one all the same, each has its own.
TEST(Scaling, OneGpuOfTheSameKindGoesFirst) {
  ComparedRun data = on("1x1", 1, "8", 100);
  data.labels["parallelism"] = "DP";
  ComparedRun tensor = on("1x1", 1, "8", 50);
  tensor.labels["parallelism"] = "TP";
  ComparedRun two = on("2x1", 2, "8", 80);
  two.labels["parallelism"] = "TP";
  const Comparison comparison = *compare({data, tensor, two}, {});
  EXPECT_NEAR(*factor(comparison, "2x1 TP"), 0.8, 1e-12);
}

TEST(Scaling, RunsThatDoNotAgreeOnTheirGpus) {
  ComparedRun odd = on("2x1", 3, "8", 80);
  const Comparison comparison = *compare({on("1x1", 1, "8", 100), on("2x1", 2, "8", 80), odd}, {});
  EXPECT_FALSE(factor(comparison, "2x1"));
  EXPECT_FALSE(comparison.groups[1].gpus);
}

TEST(Scaling, ItsSpreadIsTheThroughputs) {
  const Comparison comparison =
      *compare({on("1x1", 1, "8", 100), on("2x1", 2, "8", 150), on("2x1", 2, "8", 170)}, {});
  const Estimate& scaled = *comparison.groups[1][Figure::ScalingFactor];
  EXPECT_NEAR(scaled.mean, 0.8, 1e-12);
  EXPECT_NEAR(*scaled.sd, 0.0707, 1e-4);
  EXPECT_NEAR(scaled.min, 0.75, 1e-12);
  EXPECT_NEAR(scaled.max, 0.85, 1e-12);
}

}  // namespace
}  // namespace chokepoint::analysis
