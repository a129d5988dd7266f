#include "analysis/load/overview.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr double kRunMs = 200'000;

// Two ends of one connection, the second of which tells it the other way round. a's socket sends
// ten bytes a millisecond, and so does its interface.
class Overview : public testing::Test {
 protected:
  void make() {
    NodeMaker& a = run_.node({.name = "a", .length_ms = kRunMs});
    fill(a, a.flow("10.0.0.1:1", "10.0.0.2:2"), 10);
    NodeMaker& b = run_.node({.name = "b", .address = "10.0.0.2", .rank = 1, .length_ms = kRunMs});
    fill(b, b.flow("10.0.0.2:2", "10.0.0.1:1"), 30);
    run_.finish();
  }

  static void fill(NodeMaker& node, std::int64_t flow, double bytes_per_ms) {
    node.traffic(flow, Direction::AToB,
                 {.to_ms = kRunMs, .bytes_per_s = 1e3 * bytes_per_ms, .bin_ms = 20});
    const auto all = static_cast<std::int64_t>(bytes_per_ms * kRunMs);
    node.sockets(flow, Direction::AToB,
                 {.to_ms = kRunMs, .first = {.bytes_sent = 0}, .last = {.bytes_sent = all}});
    std::vector<Value> values;
    for (double ms = 0; ms <= kRunMs; ms += 100) {
      values.push_back({.ms = ms, .value = bytes_per_ms * ms});
    }
    node.counter("nic.sent_bytes", "eth0", values);
  }

  RunMaker run_;
};

std::size_t sockets_between(const FlowData& flow, std::size_t side, Span span) {
  return static_cast<std::size_t>(
      std::ranges::count_if(flow.sockets.at(side), [&](const record::SocketSample& sample) {
        return sample.t_ns > span.start_ns && sample.t_ns < span.end_ns;
      }));
}

TEST_F(Overview, LooksBetweenTheWindows) {
  make();
  record::Run records = *record::open_run(run_.folder());
  RunData run = load_run(records, {.samples_of_node = 1000});
  const std::vector<Span>& windows = run.nodes[0].windows;
  ASSERT_GE(windows.size(), 2U);
  const Span gap{windows[0].end_ns + 1'000'000'000, windows[1].start_ns - 1'000'000'000};
  ASSERT_GT(gap.length_ns(), 1'000'000'000);
  EXPECT_EQ(sockets_between(run.nodes[0].flows[0], 0, gap), 0U);

  add_overview(records, run, {.spans = 100, .rows_of_span = 4});
  EXPECT_GT(sockets_between(run.nodes[0].flows[0], 0, gap), 0U);
  for (const NodeData& node : run.nodes) {
    const double pace = node.name == "a" ? 10 : 30;
    EXPECT_NEAR(*growth(*node.find("nic.sent_bytes", "eth0"), gap),
                pace * static_cast<double>(gap.length_ns()) / 1e6, pace * 200);
    EXPECT_TRUE(
        std::ranges::is_sorted(node.series[0].readings, std::ranges::less_equal{}, &Reading::t_ns));
  }
}

TEST_F(Overview, PutsReadingsOnTheSideOnWhichTheConnectionHasThem) {
  make();
  record::Run records = *record::open_run(run_.folder());
  RunData run = load_run(records, {.samples_of_node = 1000});
  add_overview(records, run);
  for (const NodeData& node : run.nodes) {
    const std::size_t sending = node.name == "a" ? 0 : 1;
    const auto& samples = node.flows[0].sockets.at(sending);
    EXPECT_TRUE(node.flows[0].sockets.at(1 - sending).empty());
    EXPECT_TRUE(std::ranges::is_sorted(samples, {}, &record::SocketSample::t_ns));
    EXPECT_TRUE(std::ranges::is_sorted(
        samples, {}, [](const auto& sample) { return sample.bytes_sent.value_or(-1); }));
  }
}

TEST_F(Overview, AddsNothingToWhatWasReadWhole) {
  make();
  record::Run records = *record::open_run(run_.folder());
  RunData run = load_run(records);
  const std::size_t before = run.nodes[0].flows[0].sockets[0].size();
  add_overview(records, run);
  EXPECT_EQ(run.nodes[0].flows[0].sockets[0].size(), before);
}

}  // namespace
}  // namespace chokepoint::analysis
