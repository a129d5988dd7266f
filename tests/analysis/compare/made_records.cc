#include "tests/analysis/compare/made_records.h"

#include <fmt/format.h>

#include "analysis/commands/commands.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

void add_steps(NodeMaker& node, const MadeRecord& record) {
  double at_ms = 0;
  for (std::int64_t number = 0; number < record.steps; ++number) {
    const double length_ms =
        record.step_ms * (number % 2 == 0 ? 1 + record.wobble : 1 - record.wobble);
    node.push(record::Step{.start_ns = node.at_ms(at_ms),
                           .end_ns = node.at_ms(at_ms + length_ms),
                           .number = number,
                           .rank = 0,
                           .source = record::StepSource::Marks,
                           .samples = record.samples});
    at_ms += length_ms;
  }
}

// Both ways, as two ranks that exchange what they computed.
void add_traffic(NodeMaker& node, const MadeRecord& record) {
  constexpr double kBytesPerSecond = 25e6;
  const bool is_first = node.plan().rank == 0;
  const std::int64_t flow = is_first ? node.flow("10.0.0.1:4000", "10.0.0.2:5000")
                                     : node.flow("10.0.0.2:5000", "10.0.0.1:4000");
  for (std::int64_t step = 1; step <= record.steps; ++step) {
    const double end_ms = static_cast<double>(step) * record.step_ms;
    for (const auto way : {record::Direction::AToB, record::Direction::BToA}) {
      node.traffic(
          flow, way,
          {.from_ms = end_ms - record.copying_ms, .to_ms = end_ms, .bytes_per_s = kBytesPerSecond});
    }
  }
}

void describe(NodeMaker& node, const MadeRecord& record, double length_ms) {
  for (const auto& [key, value] : record.labels) {
    node.add(record::Label{.key = key, .value = value});
  }
  if (record.volume_bytes > 0) {
    const double bytes = record.volume_bytes / static_cast<double>(record.nodes);
    for (const std::string_view name : {record::kJobSentBytes, record::kJobReceivedBytes}) {
      node.counter(std::string(name), "eth0",
                   {{.ms = 0, .value = 0}, {.ms = length_ms, .value = bytes}});
    }
  }
  if (record.gpu_memory_bytes > 0) {
    node.gauge(std::string(record::kGpuMemory), "0000:3b:00.0",
               {{.ms = length_ms / 2, .value = record.gpu_memory_bytes}});
  }
}

}  // namespace

std::string MadeRecords::add(const MadeRecord& record) {
  RunMaker& run = *runs_.emplace_back(std::make_unique<RunMaker>());
  const double steps_ms = static_cast<double>(record.steps) * record.step_ms;
  const double length_ms = record.duration_s > 0 ? record.duration_s * 1e3 : steps_ms;
  for (std::int64_t at = 0; at < record.nodes; ++at) {
    const std::int64_t first_rank = at * record.ranks_each;
    NodeMaker& node = run.node({.name = fmt::format("n{}", at),
                                .address = fmt::format("10.0.0.{}", at + 1),
                                .speed_mbps = record.copying_ms > 0 ? 200.0 : 10'000.0,
                                .rank = first_rank,
                                .world_size = record.nodes * record.ranks_each,
                                .length_ms = length_ms,
                                .exit_status = record.exit_status});
    for (std::int64_t rank = 1; rank < record.ranks_each; ++rank) {
      node.process(first_rank + rank);
    }
    describe(node, record, length_ms);
    if (record.copying_ms > 0) {
      add_traffic(node, record);
    }
    if (at == 0) {
      add_steps(node, record);
      for (const double at_s : record.epochs_at_s) {
        node.event(at_s * 1e3, "mark", "epoch", R"({"rank":0})");
      }
    }
  }
  run.finish();
  return folders_.emplace_back(run.folder().string());
}

fakes::CliRun run_compare(const std::vector<std::string>& folders,
                          const std::vector<std::string>& options) {
  std::vector<std::string> words{"compare"};
  words.insert(words.end(), folders.begin(), folders.end());
  words.insert(words.end(), options.begin(), options.end());
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "test",
                             .sections = cli::one_section({compare_command()})};
  return fakes::run_cli(program, words);
}

}  // namespace chokepoint::analysis
