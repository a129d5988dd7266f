// What it takes to bring the clocks of a made-up run together: an hour, 4 nodes, 64 connections
// with a mark four times a second each way, 1.8 million of them at either end.
//
//   clocks_bench [HOURS]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>

#include "analysis/timeline/clocks.h"
#include "tests/analysis/timeline/true_clocks.h"

namespace chokepoint::analysis {
namespace {

constexpr std::size_t kNodes = 4;
constexpr int kConnections = 64;
constexpr int kTimes = 5;

std::size_t marks_of(const RunData& run) {
  std::size_t count = 0;
  for (const NodeData& node : run.nodes) {
    for (const FlowData& flow : node.flows) count += flow.marks[0].size() + flow.marks[1].size();
  }
  return count;
}

void measure(double hours) {
  TrueRun run(hours * 3600);
  for (std::size_t node = 0; node < kNodes; ++node) {
    const auto number = static_cast<std::int64_t>(node);
    run.node(std::string(1, static_cast<char>('a' + node)),
             wrong_clock(number * 3'600'000'000'000, 20.0 * static_cast<double>(node)));
  }
  for (std::size_t i = 0; i < kConnections; ++i) {
    const std::size_t from = i % kNodes;
    const std::size_t to = (from + 1 + i / kNodes % (kNodes - 1)) % kNodes;
    run.add_traffic(run.connect(from, to), {.to_s = hours * 3600, .per_s = 4, .only_one_end = 0});
  }
  for (int i = 0; i < kTimes; ++i) {
    const std::clock_t began = std::clock();
    const Clocks clocks = fit_clocks(run.data);
    const double ms = 1e3 * static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
    double worst_us = 0;
    for (std::size_t node = 0; node < kNodes; ++node) {
      worst_us = std::max(worst_us, run.worst_us(clocks, node));
    }
    fmt::print("{{\"marks\":{},\"cpu_ms\":{:.1f},\"worst_us\":{:.1f}}}\n", marks_of(run.data), ms,
               worst_us);
  }
}

}  // namespace
}  // namespace chokepoint::analysis

int main(int count, char** words) {
  chokepoint::analysis::measure(count > 1 ? std::atof(words[1]) : 1);
  return 0;
}
