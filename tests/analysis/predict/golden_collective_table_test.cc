// "The Impact of GPU Networking (Part 1)", 2025-03-14, its third table: one all-reduce of "700M
// parameters in BF16 (~1.32 GB)" between two A100, with a "transfer speed (GB/s)" and a time. What
// the speed counts is not said; the rows tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "analysis/predict/exchange_time.h"
#include "tests/analysis/predict/golden_figures.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;

constexpr double kGb = 1e9;
constexpr double kRanks = 2;

struct SpeedRow {
  const char* name;
  double speed;
  double time_s;
};
constexpr std::array kTable{
    SpeedRow{"NVLink", 159.29, 0.02},  SpeedRow{"PCIe 4.0", 26.90, 0.10},
    SpeedRow{"HDR", 21.67, 0.12},      SpeedRow{"25GbE", 3.01, 0.88},
    SpeedRow{"HDR, Gloo", 1.60, 1.70}, SpeedRow{"25GbE, Gloo", 1.60, 1.65},
};

// Could both numbers be roundings to a hundredth of one measurement of so many bytes?
bool agree(const SpeedRow& row, double bytes, double unit) {
  constexpr double kHalf = 0.005;
  const double shortest_s = bytes / ((row.speed + kHalf) * unit);
  const double longest_s = bytes / ((row.speed - kHalf) * unit);
  return shortest_s <= row.time_s + kHalf && longest_s >= row.time_s - kHalf;
}

std::vector<std::string> disagreeing(double bytes, double unit) {
  std::vector<std::string> names;
  for (const SpeedRow& row : kTable) {
    if (!agree(row, bytes, unit)) {
      names.emplace_back(row.name);
    }
  }
  return names;
}

TEST(GoldenCollectiveTable, ItsModelHas708MillionParameters) {
  EXPECT_NEAR(2 * 708e6 / kGiB, 1.32, 0.005) << "and its GB are 2^30 bytes";
  EXPECT_NEAR(2 * 700e6 / kGiB, 1.30, 0.005);
}

TEST(GoldenCollectiveTable, ItsSpeedCountsTheModelTwice) {
  constexpr double kModel = 2 * 708e6;
  EXPECT_THAT(disagreeing(2 * kModel, kGiB), ElementsAre("HDR, Gloo"));
  // Nothing else that it could mean fits as many rows.
  EXPECT_GE(disagreeing(2 * kModel, kGb).size(), 5U);
  EXPECT_EQ(disagreeing(kModel, kGiB).size(), 6U);  // nccl-tests' algbw, and busbw of two ranks
  EXPECT_EQ(disagreeing(kModel, kGb).size(), 6U);
  EXPECT_EQ(disagreeing(2 * 2 * 700e6, kGiB).size(), 3U);
  EXPECT_EQ(disagreeing(2 * 2 * 700e6, kGb).size(), 4U);
}

// 1.70 s are 1.55 GiB/s, and 1.60 GiB/s are 1.65 s, as in the next row.
TEST(GoldenCollectiveTable, OneRowContradictsItself) {
  constexpr double kCounted = 2 * 2 * 708e6;
  EXPECT_NEAR(kCounted / 1.70 / kGiB, 1.55, 0.005);
  EXPECT_NEAR(kCounted / (1.60 * kGiB), 1.65, 0.005);
}

// So algbw and busbw, which are the same of two ranks, are half of its speed, in Gb/s 4.295 times.
TEST(GoldenCollectiveTable, AsAlgbwAndBusbw) {
  for (const SpeedRow& row : kTable) {
    const double ms = 2 * 2 * 708e6 / (row.speed * kGiB) * 1000;
    EXPECT_NEAR(bus_mbps(Collective::AllReduce, kRanks, 2 * 708e6, ms) / 1000,
                row.speed / 2 * kGiB * 8 / kGb, 1e-6)
        << row.name;
  }
}

// The models' ring at these bus bandwidths takes what the table says.
TEST(GoldenCollectiveTable, TheModelsRingTakesAsLong) {
  for (const SpeedRow& row : kTable) {
    if (agree(row, 2 * 2 * 708e6, kGiB)) {
      const Hop hop{.alpha_ms = 0.01, .bytes_per_ms = row.speed / 2 * kGiB / 1000};
      EXPECT_NEAR(ring_ms(Collective::AllReduce, 2 * 708e6, kRanks, hop) / 1000, row.time_s, 0.0055)
          << row.name;
    }
  }
}

}  // namespace
}  // namespace chokepoint::analysis
