#include "probe/path/trace.h"

#include <gtest/gtest.h>

#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

class TraceTest : public testing::Test {
 protected:
  Trace run(made_up::Path& path, const PlanOptions& options = {}) {
    const Result<Trace> traced = trace(path, options, clock_, clock_.monotonic_ns() + 60 * kSecond);
    EXPECT_TRUE(traced);
    return traced.value_or(Trace{});
  }
  double seconds() const { return static_cast<double>(clock_.monotonic_ns() - began_) / kSecond; }

  fakes::ManualClock clock_;
  std::int64_t began_ = clock_.monotonic_ns();
};

TEST_F(TraceTest, NamesEveryHopInOrderAndStopsAtTheTarget) {
  made_up::Path path(4, clock_);
  const Trace found = run(path);
  ASSERT_EQ(found.hops.size(), 4U);
  EXPECT_TRUE(found.reached);
  EXPECT_TRUE(found.complete);
  for (const Hop& hop : found.hops) {
    EXPECT_EQ(hop.address(), made_up::router(hop.ttl));
    EXPECT_EQ(hop.answered, 3);
    EXPECT_EQ(hop.loss_percent(), 0);
    EXPECT_DOUBLE_EQ(*hop.median_rtt_ms(), hop.ttl);
  }
}

TEST_F(TraceTest, AShortPathIsNotOvershot) {
  made_up::Path path(4, clock_);
  run(path);
  EXPECT_EQ(path.shots.size(), 12U) << "the target's answers are rationed";
}

TEST_F(TraceTest, ALongPathIsWalkedWithProbesInParallel) {
  made_up::Path path(25, clock_);
  path.hop_ns = 8'000'000;
  const Trace found = run(path);
  EXPECT_EQ(found.hops.size(), 25U);
  EXPECT_GT(path.most_in_flight, 2);
  EXPECT_LT(seconds(), 3);
  for (const Hop& hop : found.hops) {
    EXPECT_EQ(hop.answered, 3) << hop.ttl;
  }
}

TEST_F(TraceTest, ASilentHopIsUnknownAndAskedOnceMore) {
  made_up::Path path(5, clock_);
  path.silent = {3};
  const Trace found = run(path);
  ASSERT_EQ(found.hops.size(), 5U);
  EXPECT_EQ(found.hops[2].address(), std::nullopt);
  EXPECT_EQ(found.hops[2].median_rtt_ms(), std::nullopt);
  EXPECT_EQ(found.hops[2].sent, 4);
  EXPECT_EQ(found.hops[2].loss_percent(), 100);
  EXPECT_TRUE(found.reached);
}

TEST_F(TraceTest, ALostProbeCountsAtItsHop) {
  made_up::Path path(3, clock_);
  path.lost = {1};
  const Trace found = run(path);
  EXPECT_EQ(found.hops[1].sent, 3);
  EXPECT_EQ(found.hops[1].answered, 2);
  EXPECT_EQ(found.hops[0].answered, 3);
}

TEST_F(TraceTest, BehindTheLastAnswerNoHopIsInventedAndSilenceIsExploredOnce) {
  made_up::Path path(30, clock_);
  for (int ttl = 4; ttl <= 30; ++ttl) {
    path.silent.insert(ttl);
  }
  const Trace found = run(path);
  EXPECT_FALSE(found.reached);
  EXPECT_EQ(found.length(), std::nullopt);
  EXPECT_EQ(found.hops.size(), 3U);
  EXPECT_EQ(found.probed_to, 30);
  EXPECT_LT(path.shots.size(), 45U);
  EXPECT_LT(seconds(), 10);
}

TEST_F(TraceTest, ARefusalEndsThePathAndSaysWhy) {
  made_up::Path path(3, clock_);
  path.refuses_at_last = Unreachable::Prohibited;
  const Trace found = run(path);
  ASSERT_EQ(found.hops.size(), 3U);
  EXPECT_FALSE(found.reached);
  EXPECT_EQ(found.hops[2].unreachable, Unreachable::Prohibited);
}

TEST_F(TraceTest, RoutersThatQuoteEightBytesAreToldApartByAskingOneAtATime) {
  made_up::Path path(6, clock_);
  path.hop_ns = 30'000'000;
  path.quotes_eight_bytes = true;
  const Trace found = run(path);
  ASSERT_EQ(found.hops.size(), 6U);
  EXPECT_TRUE(found.reached);
  for (const Hop& hop : found.hops) {
    EXPECT_EQ(hop.addresses, std::vector{made_up::router(hop.ttl)});
    EXPECT_EQ(hop.answered, 3);
    EXPECT_EQ(hop.sent, 3);
  }
}

TEST_F(TraceTest, WhatTimeCutsShortIsIncompleteAndNotLost) {
  made_up::Path path(20, clock_);
  path.hop_ns = 50'000'000;
  const Result<Trace> found = trace(path, {}, clock_, clock_.monotonic_ns() + kSecond / 5);
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->complete);
  for (const Hop& hop : found->hops) {
    EXPECT_NE(hop.loss_percent(), 100) << hop.ttl;
  }
}

TEST_F(TraceTest, MostHopsIsALimit) {
  made_up::Path path(12, clock_);
  const Trace found = run(path, {.max_hops = 5, .probes = 1});
  EXPECT_FALSE(found.reached);
  EXPECT_EQ(found.hops.size(), 5U);
}

}  // namespace
}  // namespace chokepoint::probe::path
