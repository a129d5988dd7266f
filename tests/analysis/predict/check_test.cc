// Predictions held against what was measured: the errors' figures of predict.cc.
#include <gtest/gtest.h>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

CheckedStep checked(double predicted, double measured) {
  return {.step_ms = {.predicted = predicted, .measured = measured},
          .low_ms = predicted - 5,
          .high_ms = predicted + 5};
}

TEST(Check, ErrorsHaveASignAndTheirFiguresNone) {
  EXPECT_NEAR(*checked(110, 100).step_ms.error_percent(), 10, 1e-9);
  EXPECT_NEAR(*checked(80, 100).step_ms.error_percent(), -20, 1e-9);
  const CheckFigures figures =
      figures_of({checked(110, 100), checked(80, 100), checked(100, 100), checked(104, 100)});
  EXPECT_EQ(figures.count, 4U);
  EXPECT_NEAR(*figures.median_error_percent, 7, 1e-9);
  EXPECT_NEAR(*figures.p90_error_percent, 17, 1e-9);
  EXPECT_NEAR(*figures.within_percent, 50, 1e-9);
}

TEST(Check, OfNothingNothingIsSaid) {
  EXPECT_FALSE(checked(1, 0).step_ms.error_percent());
  const CheckFigures none = figures_of({});
  EXPECT_EQ(none.count, 0U);
  EXPECT_FALSE(none.median_error_percent);
  EXPECT_FALSE(none.within_percent);
}

TEST(Check, ARunsOwnNetworkFillsWhatWasNotAsked) {
  const JobProfile run{.ranks = 4, .nodes = 2, .path = {.rate_mbps = 1000, .rtt_ms = 3}};
  const Target there = on_network_of(run, {.path = {.rtt_ms = 7}});
  EXPECT_EQ(there.path.rate_mbps, 1000);
  EXPECT_EQ(there.path.rtt_ms, 7);
  EXPECT_EQ(there.ranks, 4);
  EXPECT_EQ(there.nodes, 2);
  EXPECT_FALSE(on_network_of(run, {.path = {.payload_mbps = 5}}).path.rate_mbps);
}

// What came true must not help the models.
TEST(Check, TheModelsDoNotSeeTheOutcome) {
  const JobProfile run{.parallelism = Parallelism::Data,
                       .backend = "gloo",
                       .ranks = 2,
                       .step_ms = 300,
                       .compute_ms = 100,
                       .exposed_ms = 200,
                       .collectives = 1,
                       .bytes_of_collective = 1e6,
                       .path = {.rate_mbps = 1000, .rtt_ms = 0.1}};
  JobProfile slower = run;
  slower.step_ms = 900;
  slower.exposed_ms = 800;
  EXPECT_DOUBLE_EQ(predict(without_outcome(run), {}).step_ms,
                   predict(without_outcome(slower), {}).step_ms);
  EXPECT_LT(predict(without_outcome(run), {}).step_ms, 120);
}

}  // namespace
}  // namespace chokepoint::analysis
