// Steps of data-parallel training over real kernels' TCP and real Gloo, as `scripts/bench
// prediction` plays them in the lab: the mean of six seconds each, played once. Two to four ranks,
// links of 200 to 2000 Mb/s. From each setup every other one is predicted, as from a run whose
// profile is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

struct Job {
  double bytes;
  double buckets;
  double compute_ms;
};
constexpr Job kFewBuckets{8e6, 4, 60};
constexpr Job kManyBuckets{6e6, 12, 120};

struct Played {
  Job job;
  double mbps;
  std::int64_t ranks;
  double step_ms;
};
const std::vector<Played> kPlayed{{kFewBuckets, 2000, 2, 68.1},  {kFewBuckets, 1000, 2, 96.3},
                                  {kFewBuckets, 500, 2, 163.1},  {kFewBuckets, 200, 2, 378.0},
                                  {kFewBuckets, 500, 3, 208.0},  {kFewBuckets, 500, 4, 231.2},
                                  {kManyBuckets, 500, 2, 146.9}, {kManyBuckets, 200, 2, 311.8},
                                  {kManyBuckets, 500, 3, 182.3}, {kManyBuckets, 500, 4, 199.3}};

constexpr double kForward = 1.0 / 3;
// Of a pair of namespaces joined by veth: Gloo waits 0.02 ms for each pair of segments there
// (64 MiB over 1 Gb/s take 562.05 ms, of which the line needs 561.3).
constexpr double kQuietMs = 0.02;

// A third of computing is the forward pass; a bucket's gradients are there after its share.
JobProfile profile_of(const Played& played) {
  const Job& job = played.job;
  return {.parallelism = Parallelism::Data,
          .backend = "gloo",
          .ranks = played.ranks,
          .step_ms = played.step_ms,
          .compute_ms = job.compute_ms,
          .exposed_ms = played.step_ms - job.compute_ms,
          .overlap_ms = job.compute_ms * (1 - kForward),
          .collectives = job.buckets,
          .bytes_of_collective = job.bytes / job.buckets,
          .path = {.rate_mbps = played.mbps, .rtt_ms = kQuietMs}};
}

double off(double told, double true_value) { return std::abs(told / true_value - 1); }

TEST(GoldenLab, WithoutAnyMeasuredStep) {
  for (const Played& played : kPlayed) {
    JobProfile unmeasured = profile_of(played);
    unmeasured.step_ms = 0;
    const Prediction told = predict(unmeasured, {});
    EXPECT_LT(off(told.step_ms, played.step_ms), 0.04) << played.mbps << " " << played.ranks;
    EXPECT_LT(told.low_ms, played.step_ms);
    EXPECT_GT(told.high_ms, played.step_ms);
  }
}

TEST(GoldenLab, EachFromEachOther) {
  std::vector<double> offs;
  int within = 0;
  for (const Played& known : kPlayed) {
    for (const Played& wanted : kPlayed) {
      if (known.job.bytes != wanted.job.bytes || known.step_ms == wanted.step_ms) continue;
      const Prediction told =
          predict(profile_of(known), {.path = {.rate_mbps = wanted.mbps}, .ranks = wanted.ranks});
      offs.push_back(off(told.step_ms, wanted.step_ms));
      within += told.low_ms <= wanted.step_ms && wanted.step_ms <= told.high_ms ? 1 : 0;
    }
  }
  std::ranges::sort(offs);
  ASSERT_EQ(offs.size(), 42U);
  EXPECT_LT(offs[offs.size() / 2], 0.02);
  EXPECT_LT(offs.back(), 0.07);
  EXPECT_GE(within, 40);
}

}  // namespace
}  // namespace chokepoint::analysis
