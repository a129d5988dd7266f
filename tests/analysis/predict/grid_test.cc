// Several kinds of parallelism in one job: where their groups stand, and what they exchange as
// Megatron-LM counts it (Narayanan et al. 2021, section 3; Korthikanti et al. 2022).
#include "analysis/predict/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/predict/figures.h"
#include "analysis/predict/memory.h"
#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Grid, IsReadInAnyOrderAndNamedInOne) {
  const Grid grid = *parse_grid("pp=2,dp=4,tp=8");
  EXPECT_EQ(grid.ranks(), 64);
  EXPECT_EQ(name_of(grid), "tp=8,dp=4,pp=2");
  EXPECT_EQ(name_of(*parse_grid("zero1=4")), "tp=1,zero1=4,pp=1");
  EXPECT_EQ(parse_grid("fsdp=4,tp=2")->zero_stage, 3);
}

TEST(Grid, SaysWhatIsWrongWithIt) {
  for (const char* text :
       {"tp=2,", ",", "tp", "tp=", "tp=0", "tp=-1", "tp=2.5", "tp=2,tp=2", "dp=2,zero1=2", "rpc=2",
        "ep=8", "tp=1000,dp=1000", "tp=99999999999999"}) {
    const auto grid = parse_grid(text);
    ASSERT_FALSE(grid) << text;
    EXPECT_EQ(grid.error().kind, ErrorKind::Usage);
    EXPECT_THAT(describe(grid.error()), HasSubstr("tp=2,dp=4,pp=2"));
  }
}

// tp=2, dp=2, pp=2: eight ranks on two hosts of four, as grid.h draws them.
TEST(Placement, KeepsInsideAHostWhatFitsThere) {
  EXPECT_EQ(placement_of(2, 1, 8, 2).hosts, 1);  // tp
  EXPECT_EQ(placement_of(2, 2, 8, 2).hosts, 1);  // dp
  EXPECT_EQ(placement_of(2, 2, 8, 2).at_once, 0);
  const PipelineProfile::Stages stages = stages_of({.tensor = 2, .data = 2, .pipeline = 2}, 2);
  EXPECT_THAT(stages.is_between, ElementsAre(true));
  EXPECT_EQ(stages.at_once, 4);  // r0→r4 … r3→r7
  EXPECT_EQ(stages.most_sent, 4);
  EXPECT_EQ(stages.sent, 8);  // and gradients back
}

// The same on four hosts of two: each host has two of the four data-parallel groups.
TEST(Placement, CountsTheGroupsThatShareAHostsNics) {
  const Placement copies = placement_of(2, 2, 8, 4);
  EXPECT_EQ(copies.hosts, 2);
  EXPECT_EQ(copies.at_once, 2);
  EXPECT_EQ(copies.crossings, 8);
  EXPECT_EQ(placement_of(2, 1, 8, 4).crossings, 0);
}

TEST(Placement, IsOfTheGroupThatHasItWorst) {
  // Three hosts of four: none of the six pairs of neighbours crosses, two of the four threes do.
  EXPECT_EQ(placement_of(2, 1, 12, 3).hosts, 1);
  const Placement threes = placement_of(3, 1, 12, 3);
  EXPECT_EQ(threes.hosts, 2);
  EXPECT_EQ(threes.at_once, 2);  // the middle host has a part of both
  EXPECT_EQ(threes.crossings, 4);
}

TEST(Placement, SomeStagesStayOnTheirHost) {
  const PipelineProfile::Stages stages = stages_of({.tensor = 2, .pipeline = 4}, 2);
  EXPECT_THAT(stages.is_between, ElementsAre(false, true, false));
  EXPECT_TRUE(stages.has_inside);
  EXPECT_EQ(stages.sent, 4);
}

constexpr double kTokens = 8 * 1000;  // b·s
constexpr double kBshBytes = kTokens * 1000 * 2;

// tp=2, dp=2, pp=2 of twelve layers; every number of its volume is worked out by hand below.
Figures grid_figures(const char* grid, std::int64_t nodes = 2) {
  const Grid parsed = *parse_grid(grid);
  return {.parallelism = parsed.zero_stage > 0 ? Parallelism::Zero : Parallelism::Data,
          .zero_stage = parsed.zero_stage,
          .grid = parsed,
          .parameters = 800e6,
          .parameter_bytes = 2,
          .ranks = parsed.ranks(),
          .nodes = nodes,
          .compute_ms = 400,
          .shape = {.layers = 12,
                    .hidden = 1000,
                    .batch = 8,
                    .sequence = 1000,
                    .micro_batches = 4,
                    .activation_bytes = 2}};
}

Load load_on(const Figures& figures, std::optional<Parallelism> of) {
  const JobProfile job = *profile_from(figures);
  return load_of(job, Algorithm::Ring, ranks_of(job, {}), of);
}

TEST(GridVolume, IsMegatronsOfEachKind) {
  const Figures figures = grid_figures("tp=2,dp=2,pp=2");
  // 8bsh(t−1)/t elements a layer, of a stage's six layers.
  const Load layers = load_on(figures, Parallelism::Tensor);
  EXPECT_NEAR(layers.rank, 6 * 8 * kTokens * 1000 / 2 * 2, 1);
  EXPECT_EQ(layers.host, 0);
  // 2(d−1)/d of a rank's gradients, P/(t·p) of 2 bytes.
  const Load copies = load_on(figures, Parallelism::Data);
  EXPECT_NEAR(copies.rank, 800e6 / 4 * 2, 1);
  EXPECT_EQ(copies.network, 0);
  // b·s·h on, as much back, by each of four ranks of a stage.
  const Load stages = load_on(figures, Parallelism::Pipeline);
  EXPECT_NEAR(stages.rank, kBshBytes, 1);
  EXPECT_NEAR(stages.host, 4 * kBshBytes, 1);
  EXPECT_NEAR(stages.network, 8 * kBshBytes, 1);
  EXPECT_NEAR(load_on(figures, {}).rank, layers.rank + copies.rank + stages.rank, 1);
}

TEST(GridVolume, OfCopiesBetweenHostsIsEachGroups) {
  // Four hosts of two ranks: a host's two ranks are of two groups, and each sends its gradients.
  const Load copies = load_on(grid_figures("tp=2,dp=2,pp=2", 4), Parallelism::Data);
  EXPECT_NEAR(copies.host, 2 * 400e6, 1);
  EXPECT_NEAR(copies.network, 8 * 400e6, 1);
}

TEST(GridVolume, OfTheEmbeddingsIsTheFirstAndTheLastStages) {
  Figures tied = grid_figures("tp=2,dp=1,pp=4", 4);
  const double before = load_on(tied, Parallelism::Pipeline).network;
  tied.shape.vocabulary = 50'000;
  // Two pairs of ranks, each of which all-reduces half of V·h: 2(2−1)/2 times that, both ways.
  EXPECT_NEAR(load_on(tied, Parallelism::Pipeline).network - before,
              2 * 2 * (50'000.0 * 1000 * 2 / 2), 1);
}

constexpr double kInsideMbps = 80'000;
Prediction predicted(const Figures& figures, double link_mbps = 10'000, double nics = 1) {
  const bool has_inside = figures.nodes > 0 && figures.nodes < figures.ranks;
  return predict(*profile_from(figures),
                 {.path = {.rate_mbps = link_mbps, .rtt_ms = 0},
                  .inside_mbps = has_inside ? std::optional(kInsideMbps) : std::nullopt,
                  .nics = nics,
                  .transport = Transport::Tcp});
}

const GroupTimes& times_of(const Prediction& prediction, Parallelism of) {
  return *std::ranges::find(prediction.groups, of, &GroupTimes::of);
}

constexpr double kTcpHopMs = 0.03;
constexpr double kInsideHopMs = 0.0057;
constexpr double kInsideBytesPerMs = kInsideMbps * 0.8 * 1000 / 8;
constexpr double kLinkBytesPerMs = 10'000.0 * 1448 / 1538 * 1000 / 8;

TEST(GridTime, IsComputingLayersBubblesStagesAndCopies) {
  const Prediction step = predicted(grid_figures("tp=2,dp=2,pp=2"));
  // Four all-reduces of b·s·h/m a layer and micro-batch: of two ranks 2α + the tensor itself.
  const double layers_ms = 4 * 6 * 4 * (2 * kInsideHopMs + kBshBytes / 4 / kInsideBytesPerMs);
  EXPECT_NEAR(times_of(step, Parallelism::Tensor).exposed_ms, layers_ms, 1e-6);
  EXPECT_NEAR(step.bubble_ms, (400 + layers_ms) / 4, 1e-6);  // (p−1)/m
  // Both ways four micro-batches, four messages at once by one NIC.
  const double stages_ms = 2 * 4 * (kTcpHopMs + kBshBytes / 4 / (kLinkBytesPerMs / 4));
  EXPECT_NEAR(times_of(step, Parallelism::Pipeline).exposed_ms, stages_ms, 1e-6);
  // 400 MB in buckets of 25 MiB, the first of 1 MiB: 17.
  const double copies_ms = 17 * 2 * kInsideHopMs + 400e6 / kInsideBytesPerMs;
  EXPECT_NEAR(times_of(step, Parallelism::Data).exposed_ms, copies_ms, 1e-6);
  EXPECT_NEAR(step.exposed_ms, layers_ms + stages_ms + copies_ms, 1e-6);
  EXPECT_NEAR(step.step_ms, 400 + step.bubble_ms + step.exposed_ms, 1e-6);
}

TEST(GridTime, OfOneKindIsThatOfTheKindByItself) {
  for (const auto& [grid, kind] :
       {std::pair{"tp=4", Parallelism::Tensor}, std::pair{"pp=4", Parallelism::Pipeline}}) {
    const Figures combined = grid_figures(grid, 4);
    Figures alone = combined;
    alone.grid.reset();
    alone.parallelism = kind;
    EXPECT_NEAR(predicted(combined).step_ms, predicted(alone).step_ms, 1e-6) << grid;
    EXPECT_NEAR(load_on(combined, {}).network, load_on(alone, {}).network, 1) << grid;
  }
  Figures copies = grid_figures("dp=4", 4);
  copies.shape.micro_batches = 1;
  Figures alone = copies;
  alone.grid.reset();
  EXPECT_NEAR(predicted(copies).step_ms, predicted(alone).step_ms, 1e-6);
}

// Two groups share a host's NIC, and a second NIC gives each its own.
TEST(GridTime, GroupsShareTheNicsOfAHost) {
  const Figures figures = grid_figures("tp=2,dp=4", 4);
  const double one = times_of(predicted(figures), Parallelism::Data).communication_ms;
  const double two = times_of(predicted(figures, 10'000, 2), Parallelism::Data).communication_ms;
  EXPECT_NEAR(one - two, 1.5 * 800e6 / kLinkBytesPerMs, 1e-6);
  // A library's own limit holds for each group: 13 Gb/s, of a link that has room for both.
  const double wide = times_of(predicted(figures, 100'000), Parallelism::Data).communication_ms;
  const double latency_ms = 32 * 6 * kTcpHopMs;  // 800 MB are 32 buckets
  EXPECT_NEAR(wide, 1.5 * 800e6 * 8 / 13e6 + latency_ms, 0.5);
}

TEST(GridTime, GradientsHideInTheLastMicroBatchAlone) {
  Figures figures = grid_figures("dp=4", 4);
  figures.overlap = 1;
  const double many = predicted(figures, 200'000).exposed_ms;
  figures.shape.micro_batches = 1;
  EXPECT_GT(many, predicted(figures, 200'000).exposed_ms);
}

TEST(GridMemory, IsAPartOfEachKind) {
  const Figures figures = grid_figures("tp=2,dp=2,pp=2");
  const Memory memory = *memory_of({.figures = figures});
  EXPECT_DOUBLE_EQ(memory.weights, 200e6 * 2);
  EXPECT_DOUBLE_EQ(memory.gradients, 200e6 * 2 * 2);  // and buckets
  EXPECT_DOUBLE_EQ(memory.optimizer, 200e6 * 12);
  // The first stage holds two micro-batches of six layers: sbh(10 + 24/t) each.
  EXPECT_DOUBLE_EQ(*memory.activations, 2 * 6 * (kTokens / 4) * 1000 * (10 + 24 / 2));
  const Memory sharded = *memory_of({.figures = grid_figures("tp=2,zero1=2,pp=2")});
  EXPECT_DOUBLE_EQ(sharded.optimizer, 200e6 * 12 / 2);
  EXPECT_DOUBLE_EQ(sharded.gradients, 200e6 * 2);
}

TEST(GridFigures, SayWhatIsMissing) {
  Figures figures = grid_figures("tp=2,dp=2");
  figures.parameters = 0;  // 12Lh² then
  EXPECT_TRUE(profile_from(figures));
  figures.shape.layers = 0;
  EXPECT_FALSE(profile_from(figures));
  EXPECT_THAT(describe(profile_from(grid_figures("zero3=2,pp=2")).error()), HasSubstr("zero1"));
}

}  // namespace
}  // namespace chokepoint::analysis
