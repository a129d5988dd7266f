// Two students' reports. "Clustering GPU for Multinode Training": ResNet-152 with DDP on four GPUs
// in three nodes, six to seven times slower than on one. "Benchmarking Distributed Training and
// Inference on NVIDIA's A6000 GPUs": what it takes for the data transferred in an epoch.
//
// Of the former neither link nor data are said. Assumed here: 60.2 M parameters in FP32, a batch of
// so many for each GPU, 50,000 images as in CIFAR, and computing on four GPUs that takes a quarter
// of one GPU's time.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"

namespace chokepoint::analysis {
namespace {

struct BatchRow {
  double batch;
  double single_s;
  double multi_node_s;
};
constexpr BatchRow kRows[] = {{64, 274.44, 1500.0}, {128, 210.58, 1059.38}, {256, 180.45, 547.88}};

JobProfile job(const BatchRow& row, double epochs) {
  const double steps = std::ceil(epochs * 50'000 / (row.batch * 4));
  return *profile_from({.parameters = 60.2e6,
                        .ranks = 4,
                        .nodes = 3,
                        .steps = static_cast<std::int64_t>(steps),
                        .single_time_s = row.single_s,
                        .measured_time_s = row.multi_node_s});
}

double explaining_mbps(const BatchRow& row, double epochs) {
  const JobProfile profile = job(row, epochs);
  return *rate_that_explains(profile, {.transport = Transport::Tcp}, profile.step_ms);
}

double upgraded_s(const BatchRow& row, double epochs) {
  JobProfile profile = job(row, epochs);
  profile.path.rate_mbps = explaining_mbps(row, epochs);
  return *predict(profile, {.path = {.rate_mbps = 5000}}).total_s;
}

TEST(GoldenMultinode, ItIsSeveralTimesSlowerThanOneGpu) {
  EXPECT_NEAR(kRows[0].multi_node_s / kRows[0].single_s, 5.5, 0.05);
  EXPECT_NEAR(kRows[1].multi_node_s / kRows[1].single_s, 5.0, 0.05);
  EXPECT_NEAR(kRows[2].multi_node_s / kRows[2].single_s, 3.0, 0.05);
  // Against two GPUs in one node: six to eight times.
  EXPECT_NEAR(kRows[0].multi_node_s / 236.74, 6.3, 0.05);
  EXPECT_NEAR(kRows[1].multi_node_s / 131.51, 8.1, 0.05);
  EXPECT_NEAR(kRows[2].multi_node_s / 80.25, 6.8, 0.05);
}

// A step takes a ring 361 MB each way. Which link that means depends on how many steps there were:
// about a gigabit for four epochs, a few hundred megabits for one.
TEST(GoldenMultinode, AGigabitLinkExplainsItIfTheModelSawTheDataFourTimes) {
  EXPECT_NEAR(sent_bytes(job(kRows[2], 1), 4), 361.2e6, 0.1e6);
  EXPECT_NEAR(explaining_mbps(kRows[1], 4), 1190, 30);
  EXPECT_NEAR(explaining_mbps(kRows[2], 4), 1190, 30);
  EXPECT_NEAR(explaining_mbps(kRows[2], 1), 300, 10);
  // With the smallest batch there were fewer steps than that, or a faster link.
  EXPECT_NEAR(explaining_mbps(kRows[0], 4), 1680, 30);
}

// Whatever the number of epochs: the link's share of the time shrinks as the rate grows.
TEST(GoldenMultinode, WhatFiveGigabitsWouldChange) {
  for (const double epochs : {3.34, 4.0}) {
    const double then_s = upgraded_s(kRows[2], epochs);
    EXPECT_GT(kRows[2].multi_node_s / then_s, 3);
    EXPECT_LT(then_s, kRows[2].single_s);
  }
  const double then_s = upgraded_s(kRows[2], 3.34);
  EXPECT_NEAR(then_s, 146, 3);
  // The smallest batch stays slower than one GPU.
  EXPECT_GT(upgraded_s(kRows[0], 3.34), kRows[0].single_s);
  const Gain gain =
      gain_of({.cost = 17'000 + 3 * 8'000}, kRows[2].multi_node_s, then_s, 100, std::nullopt);
  EXPECT_NEAR(gain.saved_s, 402, 3);
  EXPECT_NEAR(*gain.cost_of_hour, 3680, 30);  // rupees, over a hundred runs
}

// Its formula counts parameters, once each step.
double transferred_parameters(double images, double batch, double gpus, double parameters) {
  return images / (batch * gpus) * parameters;
}

TEST(GoldenTransfer, ItsFormulaAndWhatARingMoves) {
  constexpr double kVgg = 119'586'826;
  EXPECT_NEAR(transferred_parameters(60'000, 1024, 4, kVgg), 1.7518e9, 1e5);
  EXPECT_NEAR(transferred_parameters(60'000, 1024, 1, kVgg), 7.0070e9, 1e5);
  // Four bytes each, of which a rank sends 2(n−1)/n: six bytes for what the formula counts once.
  const JobProfile profile = *profile_from({.parameters = kVgg, .ranks = 4, .compute_ms = 100});
  const double steps = 60'000.0 / (1024 * 4);
  EXPECT_NEAR(sent_bytes(profile, 4) * steps / transferred_parameters(60'000, 1024, 4, kVgg), 6,
              1e-9);
  // One GPU sends nothing, where the formula has most.
  EXPECT_EQ(sent_bytes(profile, 1), 0);
}

}  // namespace
}  // namespace chokepoint::analysis
