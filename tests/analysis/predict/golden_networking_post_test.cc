// "The Impact of GPU Networking (Part 1)", 2025-03-14: GPT-2 Large, 708 M parameters in BF16, on
// one and on two A100, within a node (NVLink) and across two (InfiniBand HDR, 200 Gb/s). Its
// arithmetic is repeated to the digit, and the models' answers to the same questions stand beside
// it.
#include <gtest/gtest.h>

#include <cmath>

#include "analysis/predict/exchange_time.h"
#include "analysis/predict/figures.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/wire.h"
#include "tests/analysis/predict/golden_figures.h"

namespace chokepoint::analysis {
namespace {

constexpr double kParameters = 708e6;
constexpr double kModelBytes = kParameters * 2;
constexpr double kStepsOfPost = 1108;
constexpr double kSingleS = 498.37;
constexpr double kNvlinkS = 266.83;      // measured
constexpr double kInfiniBandS = 406.12;  // measured

// Its formula: half of one GPU's time, and twice the model for each step at the link's peak.
double naive_s(double bytes_per_s) {
  return kSingleS / 2 + 2 * kModelBytes * kStepsOfPost / bytes_per_s;
}

// Its second one, with seconds an all-reduce as its table rounds them.
double by_rounded_time_s(double all_reduce_s) { return kSingleS / 2 + kStepsOfPost * all_reduce_s; }

JobProfile job() {
  return *profile_from({.parameters = kParameters,
                        .parameter_bytes = 2,
                        .ranks = 2,
                        .steps = static_cast<std::int64_t>(kStepsOfPost),
                        .single_time_s = kSingleS});
}

// Its table's "transfer speed" is twice the model over the time, in GiB/s.
double all_reduce_ms(double table_speed) { return 2 * kModelBytes / (table_speed * kGiB) * 1000; }

Target measured(double table_speed) {
  return {.curve = Curve{.ranks = 2,
                         .points = {{.bytes = kModelBytes, .ms = all_reduce_ms(table_speed)}}}};
}

// All of the model's buckets by the one size that the table measured.
double with_curve_s(double table_speed) { return *predict(job(), measured(table_speed)).total_s; }

TEST(GoldenNetworkingPost, ItsArithmeticIsRepeatedToTheDigit) {
  EXPECT_NEAR(naive_s(600e9), 254.42, 0.006);
  EXPECT_NEAR(naive_s(25e9), 374.79, 0.12);  // it adds 125.6 where its own 3.14 TB give 125.5
  EXPECT_NEAR(kSingleS / 2 + 3.14e12 / 25e9, 374.79, 0.006);
  EXPECT_NEAR(by_rounded_time_s(0.02), 271.35, 0.006);
  EXPECT_NEAR(by_rounded_time_s(0.12), 382.15, 0.006);
  EXPECT_NEAR(off_percent(254.42, kNvlinkS), -4.7, 0.05);
  EXPECT_NEAR(off_percent(374.79, kInfiniBandS), -7.7, 0.05);
  EXPECT_NEAR(off_percent(271.35, kNvlinkS), 1.7, 0.05);
  EXPECT_NEAR(off_percent(382.15, kInfiniBandS), -5.9, 0.05);
}

TEST(GoldenNetworkingPost, ARingOfTwoMovesHalfOfWhatItCounts) {
  EXPECT_EQ(bus_factor(Collective::AllReduce, 2), 1);
  EXPECT_NEAR(sent_bytes(job(), 2), 1.416e9, 1);
}

// algorithm and bus bandwidth are the same for two ranks.
TEST(GoldenNetworkingPost, TheTablesSpeedsAreTwiceTheBusBandwidth) {
  const auto bus_gbps = [](double table_speed) {
    return bus_mbps(Collective::AllReduce, 2, kModelBytes, all_reduce_ms(table_speed)) / 1000;
  };
  EXPECT_NEAR(bus_gbps(159.29), 684.1, 0.1);  // NVLink, of 2400 Gb/s one way
  EXPECT_NEAR(bus_gbps(26.90), 115.5, 0.1);   // PCIe 4.0 x16, of 252
  EXPECT_NEAR(bus_gbps(21.67), 93.1, 0.1);    // HDR, of 200
  EXPECT_NEAR(bus_gbps(3.01), 12.93, 0.01);   // 25GbE
  EXPECT_NEAR(bus_gbps(1.60), 6.87, 0.01);    // Gloo, whichever the link
  // The times that it rounds follow from them.
  EXPECT_NEAR(all_reduce_ms(159.29), 16.6, 0.05);
  EXPECT_NEAR(all_reduce_ms(26.90), 98.0, 0.05);
  EXPECT_NEAR(all_reduce_ms(21.67), 121.7, 0.05);
  EXPECT_NEAR(all_reduce_ms(3.01), 876.2, 0.1);
  EXPECT_NEAR(all_reduce_ms(1.60), 1648, 1);
}

TEST(GoldenNetworkingPost, WithTheMeasuredAllReduce) {
  const double nvlink_s = with_curve_s(159.29);
  const double infiniband_s = with_curve_s(21.67);
  EXPECT_NEAR(nvlink_s, 267.53, 0.01);
  EXPECT_NEAR(infiniband_s, 384.04, 0.01);
  EXPECT_NEAR(off_percent(nvlink_s, kNvlinkS), 0.26, 0.01);
  EXPECT_NEAR(off_percent(infiniband_s, kInfiniBandS), -5.44, 0.01);
}

// Nothing but the link's peak, as `chokepoint predict` is asked with figures alone.
TEST(GoldenNetworkingPost, FromFiguresAlone) {
  const Prediction told = predict(job(), {.path = {.rate_mbps = 200e3}});
  EXPECT_EQ(told.transport, Transport::Rdma);
  EXPECT_LT(std::abs(off_percent(*told.total_s, kInfiniBandS)), 5.9);  // than its better one
  const double each_s = kStepsOfPost / 1000;
  EXPECT_LT(told.low_ms * each_s, kInfiniBandS);
  EXPECT_GT(told.high_ms * each_s, kInfiniBandS);
}

TEST(GoldenNetworkingPost, NvlinkFromFiguresAlone) {
  // 600 GB/s are both directions together.
  const Prediction told = predict(job(), {.path = {.rate_mbps = 2400e3}});
  EXPECT_LT(std::abs(off_percent(*told.total_s, kNvlinkS)), 4.7);
  const double each_s = kStepsOfPost / 1000;
  EXPECT_LT(told.low_ms * each_s, kNvlinkS);
  EXPECT_GT(told.high_ms * each_s, kNvlinkS);
}

// Its Gloo rows, which take no notice of the link, and its 25GbE row: what a library makes of it.
TEST(GoldenNetworkingPost, LibrariesHoldFastLinksDown) {
  const Wire gloo =
      wire_of({.path = {.rate_mbps = 200e3}, .backend = "gloo", .transport = Transport::Tcp},
              Outlook::Usual);
  EXPECT_NEAR(gloo.rate_mbps, 6870, 70);
  EXPECT_EQ(gloo.limited_by, "library");
  const Wire nccl = wire_of({.path = {.rate_mbps = 25e3}, .backend = "nccl"}, Outlook::Usual);
  EXPECT_NEAR(nccl.rate_mbps, 12'930, 130);
}

}  // namespace
}  // namespace chokepoint::analysis
