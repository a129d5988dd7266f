#include "analysis/predict/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "analysis/predict/figures.h"
#include "tests/analysis/predict/golden_figures.h"

namespace chokepoint::analysis {
namespace {

// Four buckets of 1 MB behind 40 ms of the backward pass, on a link of 200 Mb/s.
JobProfile run() {
  return {.parallelism = Parallelism::Data,
          .backend = "gloo",
          .ranks = 2,
          .steps = 1000,
          .step_ms = 205,
          .compute_ms = 60,
          .exposed_ms = 143,
          .overlap_ms = 40,
          .collectives = 4,
          .bytes_of_collective = 1e6,
          .path = {.rate_mbps = 200, .rtt_ms = 0.1}};
}

TEST(PredictRun, WhatChangesNothingGivesTheMeasuredStep) {
  const Prediction same = predict(run(), {});
  EXPECT_NEAR(same.step_ms, 205, 1e-6);
  EXPECT_NEAR(same.exposed_ms, 143, 1e-6);
  EXPECT_NEAR(same.other_ms, 2, 1e-6);
  EXPECT_NEAR(*same.speedup, 1, 1e-6);
  EXPECT_NEAR(*same.total_s, 205, 1e-6);
  EXPECT_LT(same.low_ms, 205);
  EXPECT_GT(same.high_ms, 205);
}

TEST(PredictRun, TheExposedPartIsNeverMoreThanAllCommunication) {
  JobProfile slow = run();
  slow.exposed_ms = 400;
  slow.step_ms = 462;
  const Prediction same = predict(slow, {});
  EXPECT_NEAR(same.exposed_ms, 400, 1e-6);
  EXPECT_GE(same.communication_ms, same.exposed_ms);
}

TEST(PredictRun, TheBestCaseIsNotShorterThanComputing) {
  for (const double rate_mbps : {200.0, 1e3, 1e5}) {
    const Prediction told = predict(run(), {.path = {.rate_mbps = rate_mbps}});
    EXPECT_GE(told.low_ms, told.compute_ms) << rate_mbps;
    EXPECT_LE(told.low_ms, told.step_ms) << rate_mbps;
  }
}

TEST(PredictRun, OfWhichTheOwnLinkIsNotKnownIsTakenFromTheModels) {
  JobProfile unknown = run();
  unknown.path = {};
  const Prediction told = predict(unknown, {.path = {.rate_mbps = 100, .rtt_ms = 0.1}});
  EXPECT_GT(told.exposed_ms, 200);
  EXPECT_LT(told.exposed_ms, told.communication_ms + 1e-9);
}

TEST(PredictRun, AFasterLinkHidesCommunication) {
  const Prediction fast = predict(run(), {.path = {.rate_mbps = 10'000}});
  EXPECT_NEAR(fast.step_ms, 60 + 2 + 1.2, 1);
  EXPECT_NEAR(fast.compute_ms, 60, 1e-9);
  EXPECT_GT(*fast.speedup, 3);
}

TEST(PredictRun, ASlowerLinkAndALongerPathCost) {
  EXPECT_NEAR(predict(run(), {.path = {.rate_mbps = 100}}).step_ms, 205 + 173, 4);
  // Two round trips for each of four buckets.
  EXPECT_NEAR(predict(run(), {.path = {.rtt_ms = 30.1}}).step_ms, 205 + 4 * 60, 10);
}

TEST(PredictRun, TheFartherFromTheRunTheWiderTheRange) {
  const auto width = [](const Prediction& told) {
    return (told.high_ms - told.low_ms) / told.step_ms;
  };
  EXPECT_GT(width(predict(run(), {.path = {.rate_mbps = 20}})), width(predict(run(), {})));
}

TEST(PredictRun, MoreRanksSendMoreAndTakeFewerSteps) {
  const Prediction more = predict(run(), {.ranks = 4});
  EXPECT_GT(more.exposed_ms, 143 * 1.4);  // of 2(n−1)/n a half more
  EXPECT_NEAR(*more.total_s, more.step_ms * 500 / 1000, 1e-9);
  const Prediction alone = predict(run(), {.ranks = 1});
  EXPECT_EQ(alone.communication_ms, 0);
}

// A run of which only bytes and rounds are known.
TEST(PredictRun, BytesAndRoundsAloneWillDo) {
  JobProfile known = run();
  known.collectives = 0;
  known.parallelism = Parallelism::Unknown;
  known.sent_bytes = known.received_bytes = 4.25e6;
  known.rounds = 16;
  known.overlap_ms = 25;
  EXPECT_NEAR(predict(known, {}).step_ms, 205, 1e-6);
  EXPECT_LT(predict(known, {.path = {.rate_mbps = 1000}}).step_ms, 100);
  EXPECT_NEAR(predict(known, {.path = {.rtt_ms = 10.1}}).step_ms, 205 + 80, 10);
}

// Both ways one after the other, 8 MB each, of which computing hides 50 ms.
TEST(PredictRun, APipelineSendsAndReceivesInTurn) {
  const JobProfile known{.parallelism = Parallelism::Pipeline,
                         .backend = "gloo",
                         .ranks = 2,
                         .step_ms = 279.6,
                         .compute_ms = 60,
                         .exposed_ms = 219.6,
                         .overlap_ms = 50,
                         .sent_bytes = 8.5e6,
                         .received_bytes = 8.5e6,
                         .rounds = 2,
                         .path = {.rate_mbps = 500, .rtt_ms = 0.1}};
  EXPECT_NEAR(predict(known, {.path = {.rate_mbps = 1000}}).step_ms, 145.6, 5);  // as played
}

// The formula of loss explains a part of what was measured; without loss there is none of it.
TEST(PredictRun, WhatLossCostIsGoneWithIt) {
  JobProfile lossy = run();
  lossy.path = {.rate_mbps = 1000, .rtt_ms = 10, .loss = 0.005};
  lossy.exposed_ms = 2000;
  lossy.step_ms = 2062;
  JobProfile clean = run();
  clean.path = {.rate_mbps = 1000, .rtt_ms = 10};
  const Prediction told = predict(lossy, {.path = {.loss = 0}});
  EXPECT_NE(told.limited_by, "loss");
  EXPECT_NEAR(told.exposed_ms, predict(clean, {}).communication_ms, 60);
  EXPECT_NEAR(predict(lossy, {}).step_ms, 2062, 1e-6);
}

// What the model knows nothing of is kept, not multiplied.
// Two at a time wait for their round trips together, but share what the link carries.
TEST(PredictRun, CollectivesUnderWayTogetherShareRoundTripsAndTheLink) {
  JobProfile together = run();
  together.at_once = 2;
  EXPECT_NEAR(predict(together, {}).step_ms, 205, 1e-6);
  EXPECT_NEAR(predict(together, {.path = {.rtt_ms = 30.1}}).step_ms, 205 + 2 * 60, 20);
  EXPECT_NEAR(predict(together, {.path = {.rate_mbps = 100}}).step_ms, 205 + 173, 12);
  EXPECT_DOUBLE_EQ(sent_bytes(together, 2), sent_bytes(run(), 2));
}

TEST(PredictRun, EverythingWaitsForAFlagsRoundTrips) {
  JobProfile flagged = run();
  const double without = predict(flagged, {.path = {.rtt_ms = 30.1}}).step_ms;
  flagged.flags = 1;
  EXPECT_NEAR(predict(flagged, {.path = {.rtt_ms = 30.1}}).step_ms, without + 60, 10);
}

// 4 stages of 40 ms each in 4 micro-batches: 30 ms of the step are the bubble.
TEST(PredictRun, APipelinesBubbleIsNoFixedCost) {
  JobProfile stages = run();
  stages.parallelism = Parallelism::Pipeline;
  stages.ranks = 4;
  stages.pipeline = PipelineProfile{.micro_batches = 4, .micro_batch_bytes = 1e6};
  stages.compute_ms = 40;
  stages.step_ms = 270;
  stages.exposed_ms = 200;
  const Prediction same = predict(stages, {});
  EXPECT_NEAR(same.step_ms, 270, 1e-6);
  EXPECT_NEAR(same.bubble_ms, 30, 1e-6);
  EXPECT_NEAR(same.other_ms, 0, 1e-6);
  EXPECT_LT(predict(stages, {.path = {.rate_mbps = 10'000}}).step_ms, 120);
}

TEST(PredictRun, AFixedCostStaysAsItIs) {
  JobProfile known = run();
  known.exposed_ms = 343;
  known.step_ms = 403;
  const Prediction slow = predict(known, {.path = {.rate_mbps = 100}});
  EXPECT_LT(slow.step_ms, 403 + 1.3 * 173);
  EXPECT_GT(slow.step_ms, 403 + 0.9 * 173);
}

TEST(PredictRun, ARunThatHidEverythingHasNothingToCorrect) {
  JobProfile known = run();
  known.path.rate_mbps = 10'000;
  known.exposed_ms = 0;
  known.step_ms = 60;
  EXPECT_NEAR(predict(known, {}).step_ms, 60, 1.5);
  EXPECT_GT(predict(known, {.path = {.rate_mbps = 200}}).step_ms, 150);
}

JobProfile figures(const std::string& backend = "nccl") {
  return *profile_from({.parameters = 25e6, .backend = backend, .ranks = 2, .compute_ms = 100});
}

TEST(PredictFigures, TheRangeHoldsWhatIsTold) {
  for (const double mbps : {100.0, 1e3, 1e4, 1e5, 1e6}) {
    const Prediction told = predict(figures(), {.path = {.rate_mbps = mbps}});
    EXPECT_LE(told.low_ms, told.step_ms) << mbps;
    EXPECT_GE(told.high_ms, told.step_ms) << mbps;
    EXPECT_NEAR(told.step_ms, told.compute_ms + told.exposed_ms, 1e-9);
  }
}

TEST(PredictFigures, GlooWaitsForItsCreditsOverAWan) {
  const Target wan{.path = {.rate_mbps = 10'000, .rtt_ms = 15}};
  const double gloo_ms = predict(figures("gloo"), wan).communication_ms;
  const double nccl_ms = predict(figures("nccl"), wan).communication_ms;
  EXPECT_GT(gloo_ms, 100e6 / 140e3);  // 140 MB/s at most
  EXPECT_GT(gloo_ms, 1.5 * nccl_ms);
  EXPECT_EQ(predict(figures("gloo"), wan).limited_by, "credit");
  EXPECT_EQ(predict(figures("nccl"), wan).limited_by, "window");  // Linux's own
}

TEST(PredictFigures, LossAndWindowsHoldTcpDown) {
  Target target{.path = {.rate_mbps = 1000, .rtt_ms = 15, .window_bytes = 65'536}};
  EXPECT_EQ(predict(figures(), target).limited_by, "window");
  EXPECT_NEAR(predict(figures(), target).rate_mbps, 35, 0.1);
  target.path.loss = 0.01;
  EXPECT_EQ(predict(figures(), target).limited_by, "loss");
}

TEST(PredictFigures, SpeedupIsOverOneProcessor) {
  const JobProfile profile =
      *profile_from({.parameters = 25e6, .ranks = 2, .steps = 100, .single_time_s = 20.0});
  const Prediction told = predict(profile, {.path = {.rate_mbps = 400e3}});
  EXPECT_NEAR(told.compute_ms, 100, 1e-9);
  EXPECT_NEAR(*told.speedup, 20 / *told.total_s, 1e-9);
  EXPECT_LT(*told.speedup, 2);
}

TEST(PredictFigures, TheRateThatExplainsAStep) {
  const Prediction told = predict(figures(), {.path = {.rate_mbps = 730}});
  EXPECT_NEAR(*rate_that_explains(figures(), {}, told.step_ms), 730, 0.1);
  EXPECT_FALSE(rate_that_explains(figures(), {}, 50));  // computing alone takes longer
}

TEST(PredictFigures, WhatIsMissingIsNamed) {
  EXPECT_EQ(profile_from({.compute_ms = 1.0}).error().subject, "--parameters");
  EXPECT_EQ(profile_from({.parameters = 1}).error().subject, "--single-time");
  EXPECT_EQ(profile_from({.parameters = 1, .single_time_s = 1.0}).error().subject, "--steps");
}

double ten_ms(const PlannedExchange& exchange) {
  (void)exchange;
  return 10;
}

TEST(Buckets, TheFirstIsSmall) {
  EXPECT_THAT(buckets_of(60 * kMiB), testing::ElementsAre(kMiB, 25 * kMiB, 25 * kMiB, 9 * kMiB));
  EXPECT_THAT(buckets_of(1000), testing::ElementsAre(1000));
  EXPECT_TRUE(buckets_of(0).empty());
}

TEST(Buckets, AModelOfAnySizeIsCutIntoSoMany) {
  const std::vector<double> buckets = buckets_of(1e15);
  EXPECT_LE(buckets.size(), 10'001U);
  EXPECT_NEAR(std::accumulate(buckets.begin(), buckets.end(), 0.0), 1e15, 1e3);
}

TEST(Buckets, AreReadyAsTheBackwardPassGoesOn) {
  const auto exchanges = bucket_exchanges(Collective::AllReduce, {1, 1, 2}, 20, 60);
  ASSERT_EQ(exchanges.size(), 3U);
  EXPECT_EQ(exchanges[0].ready_ms, 30);
  EXPECT_EQ(exchanges[1].ready_ms, 40);
  EXPECT_EQ(exchanges[2].ready_ms, 60);
}

const std::vector<PlannedExchange> kThree{{.ready_ms = 30}, {.ready_ms = 45}, {.ready_ms = 60}};

TEST(Schedule, ComputingHidesAllButTheLast) {
  const Outcome outcome = schedule(kThree, 60, 1, ten_ms);
  EXPECT_EQ(outcome.communication_ms, 30);
  EXPECT_EQ(outcome.exposed_ms, 10);
}

TEST(Schedule, OneWaitsForTheOneBeforeIt) {
  const auto slow = [](const PlannedExchange&) { return 20.0; };
  EXPECT_EQ(schedule(kThree, 60, 1, slow).exposed_ms, 30);  // 30 + 3 · 20 − 60
}

TEST(Schedule, WithoutOverlapAllIsExposed) {
  EXPECT_EQ(schedule(kThree, 60, 0, ten_ms).exposed_ms, 30);
  EXPECT_EQ(schedule(kThree, 60, 0.5, ten_ms).exposed_ms, 15);  // ready at 45, 52.5, 60
}

TEST(Schedule, NothingTakesNothing) {
  EXPECT_EQ(schedule({}, 60, 1, ten_ms).exposed_ms, 0);
  EXPECT_EQ(schedule({{.ready_ms = 60, .times = 5}}, 60, 1, ten_ms).exposed_ms, 50);
}

}  // namespace

}  // namespace chokepoint::analysis
