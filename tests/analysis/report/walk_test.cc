// Every number of a record stands in its report, over all sources of analysis/report.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "analysis/phases/phases.h"
#include "analysis/report/report_document.h"
#include "tests/analysis/report/record_walk.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

cli::Json parts_of(const RunData& run) {
  const Clocks clocks = fit_clocks(run);
  const StepLine steps = choose_steps(run, clocks);
  const LimitTimeline limit_timeline =
      limit_timeline_of(run, clocks, phases_of(run, clocks, steps).communicating);
  const FlowTable flows = flow_table(run, clocks, &limit_timeline, run.nodes.at(0).span.start_ns);
  return {{"flows", json::to_json(flows.flows)},
          {"matrix", json::to_json(traffic_matrix(run, flows, 10))},
          {"hosts", json::to_json(host_pictures(run))}};
}

std::size_t walk(const std::filesystem::path& folder, const cli::Json& parts) {
  RecordWalk walk(folder);
  walk.flows(parts["flows"]);
  walk.matrix(parts["matrix"]);
  walk.hosts(parts["hosts"]);
  return walk.compared();
}

void describe(NodeMaker& node) {
  node.fact("kernel", "", "release", "6.1.0");
  node.fact("cpu", "", "model", "A \"quoted\" <core>\n");
  node.fact("memory", "", "total_bytes", "25276514304");
  node.fact("nic", "eth0", "mtu", "9000");
  node.fact("nic", "eth0", "driver", "ice");
  node.fact("sysctl", "", "net.ipv4.tcp_congestion_control", "cubic");
  node.counter("nic.sent_bytes", "eth0",
               {{.ms = 0, .value = 4e9},
                {.ms = 100, .value = 4.3e9, .bin_ms = 100, .peak = 3e9},
                {.ms = 900, .value = 5e9, .bin_ms = 100, .peak = 1e9}});
  node.counter("nic.received_bytes", "eth0", {{.ms = 0, .value = 7}});
  node.counter("job.sent_bytes", "eth0", {{.ms = 0, .value = 0}, {.ms = 900, .value = 9e8}});
}

void exchange(NodeMaker& node, std::int64_t flow, Direction direction, double bytes_per_s) {
  node.traffic(flow, direction,
               {.from_ms = 100,
                .to_ms = 900,
                .bytes_per_s = bytes_per_s,
                .like = {.retransmitted_packets = 1, .rtt_us = 300, .min_rtt_us = 200}});
}

// As the kernel of the sender tells.
void say_sockets(NodeMaker& node, std::int64_t flow, Direction direction) {
  node.sockets(
      flow, direction,
      {.from_ms = 0,
       .to_ms = 1000,
       .first = {.mss_bytes = 1448, .cwnd_packets = 10, .bytes_acked = 0, .busy_us = 0},
       .last = {
           .mss_bytes = 1448, .cwnd_packets = 77, .bytes_acked = 80'000'000, .busy_us = 654'321}});
}

// Two nodes that tell of one connection the other way round, and a third that is only an address.
void make(RunMaker& run) {
  NodeMaker& a = run.node({.name = "a", .address = "10.0.0.1", .rank = 0});
  NodeMaker& b = run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  describe(a);
  describe(b);
  const std::int64_t at_a = a.flow("10.0.0.1:4000", "10.0.0.2:5000");
  const std::int64_t at_b = b.flow("10.0.0.2:5000", "10.0.0.1:4000");
  exchange(a, at_a, Direction::AToB, 1e8);
  exchange(b, at_b, Direction::BToA, 0.9e8);
  exchange(b, at_b, Direction::AToB, 2e7);
  say_sockets(a, at_a, Direction::AToB);
  say_sockets(b, at_b, Direction::AToB);
  exchange(a, a.flow("10.0.0.9:4000", "10.0.0.1:5000"), Direction::AToB, 3e7);
}

TEST(Walk, FindsEveryNumberInTheRecord) {
  RunMaker run;
  make(run);
  const RunData data = run.load();
  const cli::Json parts = parts_of(data);
  ASSERT_EQ(parts["flows"].size(), 2);
  EXPECT_GT(walk(run.folder(), parts), 100);
}

TEST(Walk, FindsThemOfARunThatWasKilled) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a", .address = "10.0.0.1", .is_ended = false});
  const std::int64_t flow = a.flow("10.0.0.1:4000", "10.0.0.2:5000");
  exchange(a, flow, Direction::AToB, 1e8);
  const cli::Json parts = parts_of(run.load());
  ASSERT_EQ(parts["flows"].size(), 1);
  walk(run.folder(), parts);
}

// The walk itself must not pass over what is wrong.
TEST(Walk, SeesANumberThatIsNotTheRecords) {
  RunMaker run;
  make(run);
  cli::Json parts = parts_of(run.load());
  parts["flows"][0]["a_to_b"]["packets"] = 1;
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    walk(run.folder(), parts);
  }
  EXPECT_EQ(failures.size(), 1);
}

}  // namespace
}  // namespace chokepoint::analysis
