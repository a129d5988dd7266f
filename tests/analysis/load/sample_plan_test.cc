#include "analysis/load/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kSecondNs = 1'000'000'000;

double ten_a_second(std::int64_t t_ns) { return static_cast<double>(t_ns) / 1e8; }

std::int64_t length_of(const std::vector<Span>& windows) {
  std::int64_t sum = 0;
  for (const Span window : windows) {
    sum += window.length_ns();
  }
  return sum;
}

TEST(Windows, AreSpreadFromTheStartToTheEnd) {
  const auto windows =
      spread_windows({.span = {0, 1000 * kSecondNs}, .rows = 1000, .most = 10}, ten_a_second);
  ASSERT_EQ(windows.size(), 10U);
  EXPECT_EQ(windows.front().start_ns, 0);
  EXPECT_EQ(windows.back().end_ns, 1000 * kSecondNs);
  EXPECT_NEAR(static_cast<double>(length_of(windows)), 100e9, 1e6);
}

TEST(Windows, AreFewerRatherThanTooShort) {
  const auto windows = spread_windows(
      {.span = {0, 1000 * kSecondNs}, .rows = 1000, .most = 100, .least_ns = 20 * kSecondNs},
      ten_a_second);
  EXPECT_EQ(windows.size(), 5U);
}

TEST(Windows, TakeWholeWhatHasFewRows) {
  // All rows lie in the second half.
  const auto rows = [](std::int64_t t_ns) { return std::max(0.0, ten_a_second(t_ns) - 5000); };
  const auto windows =
      spread_windows({.span = {0, 1000 * kSecondNs}, .rows = 1000, .most = 10}, rows);
  EXPECT_EQ(windows.front().start_ns, 0);
  EXPECT_GE(windows.front().end_ns, 500 * kSecondNs);
}

TEST(Windows, OfARunThatIsReadInPartAreTheSameMomentsOfAllNodes) {
  RunMaker run;
  for (const bool is_first : {true, false}) {
    NodeMaker& node = run.node({.name = is_first ? "a" : "b",
                                .address = is_first ? "10.0.0.1" : "10.0.0.2",
                                .rank = is_first ? 0 : 1,
                                .start_ns = (is_first ? 1000 : 5000) * kSecondNs,
                                .length_ms = 100'000});
    const std::int64_t flow =
        is_first ? node.flow("10.0.0.1:1", "10.0.0.2:2") : node.flow("10.0.0.2:2", "10.0.0.1:1");
    node.traffic(flow, Direction::AToB, {.to_ms = 100'000, .bytes_per_s = 1e6, .bin_ms = 20});
    node.steps({.count = 200, .length_ms = 500});
    node.counter("nic.sent_bytes", "eth0", {{.ms = 0, .value = 0}, {.ms = 99'000, .value = 1}});
  }
  const RunData data = run.load({.samples_of_run = 2000, .fewest_of_node = 100});
  ASSERT_FALSE(data.nodes[0].windows.empty());
  ASSERT_EQ(data.nodes[0].windows.size(), data.nodes[1].windows.size());
  for (std::size_t index = 0; index < data.nodes[0].windows.size(); ++index) {
    EXPECT_EQ(data.nodes[1].windows[index].start_ns - data.nodes[0].windows[index].start_ns,
              4000 * kSecondNs);
  }
  std::size_t rows = 0;
  for (const record::FlowSample& sample : data.nodes[0].flows[0].packets[0]) {
    ++rows;
    EXPECT_TRUE(std::ranges::any_of(data.nodes[0].windows, [&](Span window) {
      return sample.t_ns >= window.start_ns && sample.t_ns <= window.end_ns;
    }));
  }
  EXPECT_GT(rows, 800U);
  EXPECT_LT(rows, 1100U);
  EXPECT_EQ(data.nodes[0].steps.size(), 200U);
  EXPECT_EQ(data.nodes[0].series[0].readings.size(), 2U);
  EXPECT_EQ(data.nodes[0].windows.front().start_ns, 1000 * kSecondNs);
  EXPECT_EQ(data.nodes[0].windows.back().end_ns, 1100 * kSecondNs);
}

}  // namespace
}  // namespace chokepoint::analysis
