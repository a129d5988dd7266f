// How long it takes to get a run into memory: four made-up nodes, each with 66 connections to the
// others, steps of half a second of which two fifths are spent communicating, for so many minutes.
//
//   each connection, while it communicates   a flow sample each way in bins of 10 ms
//   all sockets together                     2,000 samples a second, while they communicate
//   the host                                 50 readings a second
//   the job                                  two rows a step, ten collectives, and a mark a
//                                            connection each way
//
// usage: load_bench [FOLDER [MINUTES [SLOWER]]]    (a temporary folder, 60 minutes, 4 times slower)
//
// A FOLDER that holds records already is read as it is. SLOWER makes bins and the intervals of
// sockets so many times as long; 1 is as in earnest. Prints a line of JSON each time it has loaded
// the run, of five.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "tests/analysis/run_maker.h"
#include "tests/bench/made_host.h"
#include "tests/bench/made_rows.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kNodes = 4;
constexpr std::int64_t kFlowsAPair = 22;
constexpr double kStepMs = 500;
constexpr double kTalkMs = 200;
constexpr double kTickMs = 10;
constexpr double kSocketsAMs = 2;
constexpr std::int64_t kCollectivesAStep = 10;
constexpr int kRepetitions = 5;

struct Plan {
  double minutes = 60;
  double slower = 4;

  double length_ms() const { return minutes * 60e3; }
  double tick_ms() const { return kTickMs * slower; }
};

std::string address_of(std::int64_t node) { return fmt::format("10.0.0.{}", node + 1); }

class Node {
 public:
  Node(const std::filesystem::path& folder, std::int64_t index, const Plan& plan)
      : plan_(plan),
        index_(index),
        maker_(folder, {.name = fmt::format("n{}", index),
                        .address = address_of(index),
                        .rank = index,
                        .world_size = kNodes,
                        .length_ms = plan.length_ms() + 1000}) {
    for (std::int64_t peer = 0; peer < kNodes; ++peer) {
      for (std::int64_t number = 0; peer != index && number < kFlowsAPair; ++number) {
        flows_.push_back(maker_.flow(end_of(index, peer, number), end_of(peer, index, number)));
      }
    }
    for (const bench::MadeSeries& made : bench::kSeriesOfHost) {
      series_.push_back(maker_.add(record::Series{.name = std::string(made.name),
                                                  .subject = std::string(made.subject),
                                                  .kind = made.kind}));
    }
  }

  std::int64_t write() {
    const auto steps = static_cast<std::int64_t>(plan_.length_ms() / kStepMs);
    for (std::int64_t step = 0; step < steps; ++step) {
      push_step(step);
    }
    for (const std::int64_t flow : flows_) {
      for (const Direction direction : {Direction::AToB, Direction::BToA}) {
        maker_.add(record::FlowTotal{.flow = flow,
                                     .direction = direction,
                                     .packets = bytes_ / 1448,
                                     .bytes = bytes_,
                                     .payload_bytes = bytes_});
      }
    }
    maker_.finish();
    return rows_;
  }

 private:
  static std::string end_of(std::int64_t node, std::int64_t peer, std::int64_t number) {
    return fmt::format("{}:{}", address_of(node), 10'000 + peer * 100 + number);
  }

  template <class Row>
  void push(const Row& row) {
    maker_.push(row);
    ++rows_;
  }

  void push_step(std::int64_t number) {
    const double start = static_cast<double>(number) * kStepMs;
    const double talk = start + kStepMs - kTalkMs;
    for (const std::int64_t flow : flows_) {
      push_mark(talk, flow, number);
    }
    for (double ms = talk; ms < start + kStepMs; ms += plan_.tick_ms()) {
      push_flows(ms + plan_.tick_ms());
    }
    for (double ms = start; ms < start + kStepMs; ms += 1000) {
      push_host(ms);
    }
    for (std::int64_t i = 0; i < kCollectivesAStep; ++i) {
      const double begin =
          talk + static_cast<double>(i) * kTalkMs / static_cast<double>(kCollectivesAStep);
      push(record::Collective{.start_ns = maker_.at_ms(begin),
                              .end_ns = maker_.at_ms(begin + 15),
                              .number = number * kCollectivesAStep + i,
                              .kind = record::CollectiveKind::AllReduce,
                              .rank = index_,
                              .bytes = 1'000'000,
                              .waited_ns = 1'000'000});
    }
    for (const auto source : {record::StepSource::Marks, record::StepSource::Traffic}) {
      push(record::Step{.start_ns = maker_.at_ms(start),
                        .end_ns = maker_.at_ms(start + kStepMs),
                        .number = number,
                        .rank = index_,
                        .source = source});
    }
  }

  void push_mark(double ms, std::int64_t flow, std::int64_t number) {
    for (const Direction direction : {Direction::AToB, Direction::BToA}) {
      push(record::FlowMark{.t_ns = maker_.at_ms(ms),
                            .flow = flow,
                            .direction = direction,
                            .sequence = number * 1000});
    }
  }

  void push_flows(double ms) {
    ++tick_;
    bytes_ += 500'000;
    for (const std::int64_t flow : flows_) {
      push_packets(ms, flow);
    }
    for (std::int64_t i = 0; i < std::lround(kSocketsAMs * kTickMs); ++i) {
      push_socket(ms, flows_[next_socket_++ % flows_.size()]);
    }
  }

  void push_packets(double ms, std::int64_t flow) {
    for (const Direction direction : {Direction::AToB, Direction::BToA}) {
      record::FlowSample bin = record::busy_bin(tick_, 340, 500'000);
      bin.t_ns = maker_.at_ms(ms);
      bin.bin_ns = static_cast<std::int64_t>(plan_.tick_ms() * static_cast<double>(kMsNs));
      bin.flow = flow;
      bin.direction = direction;
      push(bin);
    }
  }

  void push_socket(double ms, std::int64_t flow) {
    record::SocketSample sample = record::busy_socket(tick_, bytes_);
    sample.t_ns = maker_.at_ms(ms);
    sample.flow = flow;
    push(sample);
  }

  void push_host(double ms) {
    for (std::size_t number = 0; number < series_.size(); ++number) {
      const auto value = static_cast<double>(tick_) * static_cast<double>(number + 1);
      if (bench::kSeriesOfHost.at(number).kind == bench::kGauge) {
        push(record::GaugeSample{.t_ns = maker_.at_ms(ms),
                                 .series = series_[number],
                                 .value = std::fmod(value, 1000.0)});
      } else {
        push(record::CounterSample{
            .t_ns = maker_.at_ms(ms), .series = series_[number], .value = value * 1e5});
      }
    }
  }

  Plan plan_;
  std::int64_t index_;
  NodeMaker maker_;
  std::vector<std::int64_t> flows_;
  std::vector<std::int64_t> series_;
  std::size_t next_socket_ = 0;
  std::int64_t tick_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t rows_ = 0;
};

void write_records(const std::filesystem::path& folder, const Plan& plan) {
  for (std::int64_t index = 0; index < kNodes; ++index) {
    const std::int64_t rows = Node(folder, index, plan).write();
    fmt::print("{{\"node\":{},\"rows_written\":{}}}\n", index, rows);
    std::fflush(stdout);
  }
}

std::int64_t bytes_of(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += static_cast<std::int64_t>(entry.file_size());
  }
  return bytes;
}

std::int64_t samples_of(const RunData& run) {
  std::size_t rows = 0;
  for (const NodeData& node : run.nodes) {
    for (const FlowData& flow : node.flows) {
      for (const std::size_t side : {0U, 1U}) {
        rows += flow.packets.at(side).size() + flow.sockets.at(side).size() +
                flow.marks.at(side).size();
      }
    }
    for (const SeriesData& series : node.series) {
      rows += series.readings.size();
    }
    rows += node.steps.size() + node.collectives.size();
  }
  return static_cast<std::int64_t>(rows);
}

double cpu_s() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int measure(const std::filesystem::path& folder) {
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    const double cpu_before = cpu_s();
    Result<record::Run> run = record::open_run(folder);
    if (!run) {
      fmt::print(stderr, "{}\n", describe(run.error()));
      return 1;
    }
    const RunData data = load_run(*run);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    fmt::print(
        "{{\"nodes\":{},\"connections\":{},\"folder_bytes\":{},\"samples_read\":{},"
        "\"windows\":{},\"took_ms\":{:.0f},\"cpu_ms\":{:.0f}}}\n",
        data.nodes.size(), data.connections.size(), bytes_of(folder), samples_of(data),
        data.nodes.front().windows.size(), took.count() * 1e3, (cpu_s() - cpu_before) * 1e3);
  }
  return 0;
}

int run(const std::filesystem::path& given, const Plan& plan) {
  const record::PrivateFolder temporary = std::move(*record::PrivateFolder::make());
  const std::filesystem::path folder = given.empty() ? temporary.path() : given;
  if (!std::filesystem::exists(folder) || std::filesystem::is_empty(folder)) {
    write_records(folder, plan);
  }
  return measure(folder);
}

}  // namespace
}  // namespace chokepoint::analysis

int main(int argc, char** argv) {
  chokepoint::analysis::Plan plan;
  plan.minutes = argc > 2 ? std::strtod(argv[2], nullptr) : plan.minutes;
  plan.slower = argc > 3 ? std::strtod(argv[3], nullptr) : plan.slower;
  if (plan.minutes <= 0 || plan.slower < 1) {
    return 2;
  }
  return chokepoint::analysis::run(argc > 1 ? argv[1] : "", plan);
}
