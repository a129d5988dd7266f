#include "analysis/predict/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "analysis/predict/buckets.h"
#include "tests/analysis/predict/binary_units.h"

namespace chokepoint::analysis {
namespace {

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
