#include "analysis/predict/tiers.h"

#include <gtest/gtest.h>

#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

constexpr double kTensorBytes = 8000;
constexpr Hop kBetweenHosts{.alpha_ms = 1, .bytes_per_ms = 100};
constexpr Hop kInsideHost{.alpha_ms = 0.125, .bytes_per_ms = 400};
constexpr Ranks kTwoHosts{.count = 4, .nodes = 2};

Tiers tiers_of(const Ranks& ranks, const Hop& between = kBetweenHosts) {
  return {.ranks = ranks, .between = between, .inside = kInsideHost};
}

double all_reduce_of(Algorithm algorithm, const Tiers& on) {
  return exchange_ms(Collective::AllReduce, algorithm, kTensorBytes, on);
}

// NCCL's count: of 2(n−1) steps 2(N−1) pass between hosts.
TEST(Tiers, ARingPassesEachHostOnce) {
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Ring, tiers_of(kTwoHosts)),
                   2 * 1 + 4 * 0.125 + 1.5 * kTensorBytes / 100);
  EXPECT_DOUBLE_EQ(
      exchange_ms(Collective::AllGather, Algorithm::Ring, kTensorBytes, tiers_of(kTwoHosts)),
      1 + 2 * 0.125 + 0.75 * kTensorBytes / 100);
}

TEST(Tiers, TheSlowestTierSetsTheRingsPace) {
  const Hop fast{.alpha_ms = 1, .bytes_per_ms = 4000};
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Ring, tiers_of(kTwoHosts, fast)),
                   2 * 1 + 4 * 0.125 + 1.5 * kTensorBytes / 400);
}

TEST(Tiers, OneHostUsesItsInsideAlone) {
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Ring, tiers_of({.count = 2, .nodes = 1})),
                   ring_ms(Collective::AllReduce, kTensorBytes, 2, kInsideHost));
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Tree, tiers_of({.count = 2, .nodes = 1})),
                   ring_ms(Collective::AllReduce, kTensorBytes, 2, kInsideHost));
}

TEST(Tiers, WithoutAnInsideAllLinksAreTheNetworks) {
  const Tiers alike{.ranks = kTwoHosts, .between = kBetweenHosts};
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Ring, alike),
                   ring_ms(Collective::AllReduce, kTensorBytes, 4, kBetweenHosts));
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Tree, alike),
                   tree_all_reduce_ms(kTensorBytes, 2, kBetweenHosts));
}

// NCCL's count: 2((g−1) inside + log₂ N between).
TEST(Tiers, ATreeIsAChainInEachHost) {
  const Tiers four_each = tiers_of({.count = 16, .nodes = 4});
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Tree, four_each),
                   2 * (3 * 0.125 + 2 * 1) + 1.5 * kTensorBytes / 100);
  // A rank in the chain's middle sends up and down.
  const Hop fast{.alpha_ms = 1, .bytes_per_ms = 4000};
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Tree, tiers_of({.count = 16, .nodes = 4}, fast)),
                   2 * (3 * 0.125 + 2 * 1) + 2 * kTensorBytes / 400);
}

TEST(Tiers, HierarchicalAddsInsideAndBetween) {
  EXPECT_DOUBLE_EQ(all_reduce_of(Algorithm::Hierarchical, tiers_of(kTwoHosts)),
                   (2 * 0.125 + kTensorBytes / 400) + (2 * 1 + kTensorBytes / 100));
}

// Each rank has a message for each other one, of which half or more leave the host.
TEST(Tiers, AllToAllIsHeldBackByTheHostsNics) {
  EXPECT_DOUBLE_EQ(
      exchange_ms(Collective::AllToAll, Algorithm::Ring, kTensorBytes, tiers_of(kTwoHosts)),
      1 + 2 * 0.125 + kTensorBytes / 100);
}

Load load_by(Collective collective, Algorithm algorithm, const Ranks& ranks) {
  return load_of({.collective = collective, .bytes = kTensorBytes}, algorithm, ranks);
}

TEST(Loads, EveryAllReduceSendsAsMuchARankButNotBetweenHosts) {
  const Ranks ranks{.count = 16, .nodes = 4};
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Tree, Algorithm::Hierarchical}) {
    EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, algorithm, ranks).rank,
                     2 * 15.0 / 16 * kTensorBytes);
  }
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Ring, ranks).host,
                   1.875 * kTensorBytes);
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Ring, ranks).network,
                   7.5 * kTensorBytes);
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Tree, ranks).host, 1.5 * kTensorBytes);
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Tree, ranks).network,
                   6 * kTensorBytes);
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Tree, ranks).inside, 2 * kTensorBytes);
  EXPECT_DOUBLE_EQ(load_by(Collective::AllReduce, Algorithm::Hierarchical, ranks).inside,
                   1.5 * kTensorBytes);
}

// Inside and between together are what all ranks send.
TEST(Loads, NothingOfAnAllToAllIsLost) {
  const Load moved = load_by(Collective::AllToAll, Algorithm::Ring, {.count = 8, .nodes = 2});
  EXPECT_DOUBLE_EQ(8 * moved.inside + moved.network, 8 * moved.rank);
  EXPECT_DOUBLE_EQ(moved.host * 2, moved.network);
}

// What leaves by another rank's NIC passes that rank first.
TEST(Loads, RailsForwardAnAllToAllInsideTheHost) {
  const Load one = load_by(Collective::AllToAll, Algorithm::Ring, {.count = 8, .nodes = 2});
  const Load rails =
      load_by(Collective::AllToAll, Algorithm::Ring, {.count = 8, .nodes = 2, .nics = 4});
  EXPECT_DOUBLE_EQ(rails.inside - one.inside, 0.75 * 0.5 * kTensorBytes);
  EXPECT_DOUBLE_EQ(rails.host, one.host);
}

TEST(Loads, OneHostSendsNothing) {
  const Load moved = load_by(Collective::AllReduce, Algorithm::Ring, {.count = 4, .nodes = 1});
  EXPECT_EQ(moved.network, 0);
  EXPECT_EQ(moved.host, 0);
  EXPECT_DOUBLE_EQ(moved.inside, 1.5 * kTensorBytes);
}

Figures figures_on_two_hosts(Parallelism parallelism) {
  return {.parallelism = parallelism,
          .parameters = 1e9,
          .ranks = 4,
          .nodes = 2,
          .compute_ms = 100,
          .shape = {.layers = 12,
                    .hidden = 1000,
                    .batch = 8,
                    .sequence = 1000,
                    .micro_batches = 4,
                    .activation_bytes = 2}};
}

// Four stages on two hosts pass their host's border once, each way.
TEST(Loads, APipelineCrossesOneBorder) {
  const JobProfile job = *profile_from(figures_on_two_hosts(Parallelism::Pipeline));
  const Load moved = load_of(job, Algorithm::Ring, kTwoHosts);
  EXPECT_DOUBLE_EQ(moved.network, 2 * 16e6);
  EXPECT_DOUBLE_EQ(moved.host, 16e6);
  EXPECT_DOUBLE_EQ(load_of(job, Algorithm::Ring, {.count = 4}).network, 6 * 16e6);
}

Target on_gigabit(std::optional<double> inside_mbps, double nics) {
  return {.path = {.rate_mbps = 1000}, .inside_mbps = inside_mbps, .nics = nics};
}

TEST(TwoTiers, ANicForEachGpuHalvesWhatTheNetworkTakes) {
  const JobProfile job = *profile_from(figures_on_two_hosts(Parallelism::Data));
  const double one_ms = predict(job, on_gigabit(256e3, 1)).communication_ms;
  const Prediction two = predict(job, on_gigabit(256e3, 2));
  EXPECT_NEAR(one_ms / two.communication_ms, 2, 0.01);
  EXPECT_NEAR(two.rate_mbps, 2 * 941, 1);
  EXPECT_EQ(two.limited_by, "link");
}

TEST(TwoTiers, NicsFasterThanTheHostsInsideAreHeldBackByIt) {
  const JobProfile job = *profile_from(figures_on_two_hosts(Parallelism::Data));
  const Prediction told = predict(job, on_gigabit(1500, 8));
  EXPECT_EQ(told.limited_by, "intra-link");
  EXPECT_NEAR(told.rate_mbps, 1200, 1);
}

// A message between two stages goes by one NIC.
TEST(TwoTiers, PipelinesGainNothingByMoreNics) {
  const JobProfile job = *profile_from(figures_on_two_hosts(Parallelism::Pipeline));
  const double alike_ms = predict(job, on_gigabit({}, 1)).step_ms;
  const double one_ms = predict(job, on_gigabit(256e3, 1)).step_ms;
  EXPECT_LT(one_ms, alike_ms);
  EXPECT_DOUBLE_EQ(predict(job, on_gigabit(256e3, 2)).step_ms, one_ms);
}

TEST(TwoTiers, OneHostNeedsNoNetwork) {
  Figures alone = figures_on_two_hosts(Parallelism::Data);
  alone.nodes = 1;
  alone.bucket_bytes = 4e9;  // few, so that latency is next to nothing
  const Prediction told = predict(*profile_from(alone), {.inside_mbps = 800e3});
  EXPECT_EQ(told.limited_by, "intra-link");
  EXPECT_NEAR(told.communication_ms, 6e9 * 8 / 640e6, 0.1);
}

TEST(TwoTiers, GloosRingTakesTheSlowerTier) {
  Figures gloo = figures_on_two_hosts(Parallelism::Data);
  gloo.backend = "gloo";
  const JobProfile job = *profile_from(gloo);
  const double alike_ms = predict(job, on_gigabit({}, 1)).communication_ms;
  EXPECT_DOUBLE_EQ(predict(job, on_gigabit(256e3, 1)).communication_ms, alike_ms);
  EXPECT_GT(predict(job, on_gigabit(500, 1)).communication_ms, alike_ms);
}

TEST(TwoTiers, LinksAlikeArePipelinesOneTier) {
  Pipeline pipeline{.stages = 4,
                    .micro_batches = 4,
                    .forward_ms = 10,
                    .backward_ms = 20,
                    .wire_ms = 3,
                    .latency_ms = 1};
  const double blocking_ms = blocking_pipeline_ms(pipeline);
  const double overlapped_ms = overlapped_pipeline_ms(pipeline);
  EXPECT_DOUBLE_EQ(blocking_ms, 30 + 30 * 0.75 + 2 * 6 * 4);
  pipeline.hosts = 2;
  pipeline.inside_wire_ms = 3;
  pipeline.inside_latency_ms = 1;
  EXPECT_DOUBLE_EQ(blocking_pipeline_ms(pipeline), blocking_ms);
  EXPECT_DOUBLE_EQ(overlapped_pipeline_ms(pipeline), overlapped_ms);
  pipeline.inside_wire_ms = pipeline.inside_latency_ms = 0;
  EXPECT_DOUBLE_EQ(blocking_pipeline_ms(pipeline), 30 + 30 * 0.75 + 2 * 4 * 4);
}

}  // namespace
}  // namespace chokepoint::analysis
