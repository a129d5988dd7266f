#include "analysis/predict/outer_steps.h"

#include <gtest/gtest.h>

#include "analysis/predict/figures.h"

namespace chokepoint::analysis {
namespace {

// INTELLECT-1 has as many parameters and sites.
Figures far_sites() {
  return {.parameters = 10e9,
          .ranks = 14,
          .compute_ms = 22'800,
          .outer = OuterSteps{.every = 100},
          .outer_bytes = 1};
}

Prediction on(const JobProfile& job, double link_mbps) {
  Target target;
  target.path = {.rate_mbps = link_mbps, .rtt_ms = 1};
  target.transport = Transport::Tcp;
  return predict(job, target);
}

TEST(OuterSteps, AStepHasItsShareOfAnExchange) {
  const JobProfile job = *profile_from(far_sites());
  const Prediction prediction = on(job, 1000);
  const OuterTimes times = times_of(*job.outer, prediction);
  // A ring passes 13/14 of 10 GB on twice.
  const double least_ms = 2 * 13.0 / 14 * 10e9 * 8 / 1e9 * 1000;
  EXPECT_GT(times.sync_ms, least_ms);
  EXPECT_LT(times.sync_ms, 1.2 * least_ms);
  EXPECT_DOUBLE_EQ(times.exposed_ms, times.sync_ms);
  EXPECT_NEAR(prediction.step_ms, 22'800 + times.sync_ms / 100, 1e-6);
  EXPECT_NEAR(times.utilisation, 22'800 / prediction.step_ms, 1e-9);
  EXPECT_NEAR(sent_bytes(job, 14), 2 * 13.0 / 14 * 10e9 / 100, 1);
}

TEST(OuterSteps, GoOnBesideAnExchange) {
  Figures figures = far_sites();
  const double sync_ms = times_of(*figures.outer, on(*profile_from(figures), 1000)).sync_ms;
  figures.outer->beside_steps = 2;
  const OuterTimes some = times_of(*figures.outer, on(*profile_from(figures), 1000));
  EXPECT_NEAR(some.sync_ms, sync_ms, 1e-6);
  EXPECT_NEAR(some.exposed_ms, sync_ms - 2 * 22'800, 1e-6);
  figures.outer->beside_steps = 100;
  EXPECT_EQ(times_of(*figures.outer, on(*profile_from(figures), 1000)).exposed_ms, 0);
}

TEST(OuterSteps, TheLeastReachesTheUtilisation) {
  Figures figures = far_sites();
  const OuterTimes times = times_of(*figures.outer, on(*profile_from(figures), 200));
  const double least = least_every(*figures.outer, times, 0.9);
  const auto utilisation = [&](double every) {
    figures.outer->every = every;
    return times_of(*figures.outer, on(*profile_from(figures), 200)).utilisation;
  };
  EXPECT_GE(utilisation(least), 0.9);
  EXPECT_LT(utilisation(least - 1), 0.9);
}

TEST(OuterSteps, OfARunThatExchangesInEachStep) {
  JobProfile run{.parallelism = Parallelism::Data,
                 .backend = "gloo",
                 .ranks = 2,
                 .step_ms = 300,
                 .compute_ms = 100,
                 .exposed_ms = 200,
                 .collectives = 1,
                 .bytes_of_collective = 4e6};
  run.path = {.rate_mbps = 200, .rtt_ms = 0.1};
  const JobProfile seldom = *changed(run, {.outer = OuterSteps{.every = 10}});
  Target target;
  target.job = seldom;
  const Prediction prediction = predict(run, target);
  EXPECT_NEAR(prediction.step_ms, 100 + 200 / 10, 3);

  run.outer = OuterSteps{.every = 5};  // and 20 MB each time
  target.job = *changed(run, {.outer = OuterSteps{.every = 50}});
  EXPECT_NEAR(predict(run, target).step_ms, 100 + 200 / 10, 3);

  run.parallelism = Parallelism::Tensor;
  EXPECT_FALSE(changed(run, {.outer = OuterSteps{.every = 10}}));
}

}  // namespace
}  // namespace chokepoint::analysis
