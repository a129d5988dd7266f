// The records of two hosts that compute and then fill the link between them, step after step,
// written by the record's own writer; and commands run on them in this process.
#pragma once

#include <nlohmann/json.hpp>

#include "base/record/names.h"
#include "tests/analysis/run_maker.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {

struct MadePair {
  static constexpr double kStepMs = 200;
  static constexpr double kCopyingMs = 140;  // of each step
  static constexpr std::int64_t kSteps = 30;
  static constexpr double kBytesPerSecond = 25e6;  // each way

  explicit MadePair(NodePlan plan_of_a = {}) {
    plan_of_a.length_ms = kSteps * kStepMs + 500;
    plan_of_a.speed_mbps = 200;
    NodePlan plan_of_b = plan_of_a;
    plan_of_b.name = "b";
    plan_of_b.address = "10.0.0.2";
    plan_of_b.rank = 1;
    a = &run.node(plan_of_a);
    b = &run.node(plan_of_b);
    fill(*a, a->flow("10.0.0.1:4000", "10.0.0.2:5000"));
    fill(*b, b->flow("10.0.0.2:5000", "10.0.0.1:4000"));
  }

  static void fill(NodeMaker& node, std::int64_t flow) {
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const double end_ms = static_cast<double>(step + 1) * kStepMs;
      for (const record::Direction way : {record::Direction::AToB, record::Direction::BToA}) {
        node.traffic(
            flow, way,
            {.from_ms = end_ms - kCopyingMs, .to_ms = end_ms, .bytes_per_s = kBytesPerSecond});
      }
    }
    node.sockets(flow, record::Direction::AToB,
                 {.to_ms = kSteps * kStepMs,
                  .first = {.state = 1, .bytes_sent = 0, .busy_us = 0},
                  .last = {.state = 1,
                           .mss_bytes = 1448,
                           .cwnd_packets = 1000,
                           .rtt_us = 20'000,
                           .min_rtt_us = 100,
                           .bytes_sent = 100'000'000,
                           .unacked_packets = 300,
                           .busy_us = 4'000'000,
                           .unsent_bytes = 1'000'000,
                           .send_queue_bytes = 1'400'000}});
    node.steps({.count = kSteps, .length_ms = kStepMs});
    node.counter(std::string(record::kJobSentBytes), "eth0",
                 {{.ms = 0, .value = 0}, {.ms = kSteps * kStepMs, .value = 9e7}});
    node.counter(std::string(record::kJobReceivedBytes), "eth0",
                 {{.ms = 0, .value = 0}, {.ms = kSteps * kStepMs, .value = 8e7}});
  }

  std::string folder() {
    run.finish();
    return run.folder().string();
  }

  RunMaker run = {};
  NodeMaker* a = nullptr;
  NodeMaker* b = nullptr;
};

inline fakes::CliRun run_command(cli::CommandFactory command,
                                 const std::vector<std::string>& words) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0.0",
                             .purpose = "test",
                             .sections = cli::one_section({std::move(command)})};
  return fakes::run_cli(program, words);
}

}  // namespace chokepoint::analysis
