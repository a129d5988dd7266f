// How large the record of a long run gets: made-up hours of what `chokepoint run` writes at most,
// as fast as the disk takes it, with the limits that users get.
//
//   each flow, busy all the time   a flow sample each way in bins of 10 ms
//   all sockets together           2,000 samples a second
//   the host                       300 counters and gauges, ten times a second
//   the job                        five steps a second with ten collectives each
//
// usage: record_growth [HOURS [FLOWS [SLOWER]]]    (24 hours, 200 flows, 200 times slower)
//
// SLOWER makes each of these intervals so many times as long; 1 is as in earnest. Prints a line of
// JSON a made-up hour, and the totals.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "base/record/opening.h"
#include "base/record/reader.h"
#include "base/record/writer.h"
#include "tests/bench/made_rows.h"

namespace chokepoint::record {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

struct Plan {
  double hours = 24;
  std::int64_t flows = 200;
  std::int64_t slower = 200;

  std::int64_t tick_ns() const { return 10'000'000 * slower; }
  std::int64_t ticks() const {
    return static_cast<std::int64_t>(hours * kHour / static_cast<double>(tick_ns()));
  }
};

constexpr std::int64_t kSocketsATick = 20;
constexpr std::int64_t kSeries = 300;
constexpr std::int64_t kTicksASeries = 10;
constexpr std::int64_t kTicksAStep = 20;
constexpr std::int64_t kCollectivesAStep = 10;

// The disk decides the pace here, so a row that is refused is pushed again.
class Source {
 public:
  explicit Source(Producer producer) : producer_(std::move(producer)) {}

  template <class Row>
  void push(const Row& row) {
    while (!producer_.push(row)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++rows_;
  }
  std::int64_t rows() const { return rows_; }

 private:
  Producer producer_;
  std::int64_t rows_ = 0;
};

void push_flow(Source& source, std::int64_t t_ns, std::int64_t flow, std::int64_t tick,
               const Plan& plan) {
  for (const Direction direction : {Direction::AToB, Direction::BToA}) {
    FlowSample bin = busy_bin(tick, 1700, 2'500'000);
    bin.t_ns = t_ns;
    bin.bin_ns = plan.tick_ns();
    bin.flow = flow;
    bin.direction = direction;
    source.push(bin);
  }
}

void push_socket(Source& source, std::int64_t t_ns, std::int64_t flow, std::int64_t tick) {
  SocketSample sample = busy_socket(tick, tick * 2'500'000);
  sample.t_ns = t_ns;
  sample.flow = flow;
  source.push(sample);
}

void push_host(Source& source, std::int64_t t_ns, std::int64_t tick) {
  for (std::int64_t series = 1; series <= kSeries; ++series) {
    const auto value = static_cast<double>(tick * series * 1000);
    if (series % 3 != 0) {
      source.push(CounterSample{.t_ns = t_ns, .series = series, .value = value});
    } else {
      source.push(GaugeSample{.t_ns = t_ns, .series = series, .value = value});
    }
  }
}

void push_step(Source& source, std::int64_t t_ns, std::int64_t number, const Plan& plan) {
  const std::int64_t step_ns = kTicksAStep * plan.tick_ns();
  source.push(Step{.start_ns = t_ns - step_ns, .end_ns = t_ns, .number = number, .rank = 0});
  for (std::int64_t i = 0; i < kCollectivesAStep; ++i) {
    const std::int64_t begin = t_ns - step_ns + i * step_ns / kCollectivesAStep;
    source.push(Collective{.start_ns = begin,
                           .end_ns = begin + step_ns / kCollectivesAStep / 2,
                           .number = number * kCollectivesAStep + i,
                           .kind = CollectiveKind::AllReduce,
                           .rank = 0,
                           .bytes = 1'000'000});
  }
}

void push_tick(Source& source, std::int64_t tick, const Plan& plan) {
  const std::int64_t t_ns = tick * plan.tick_ns();
  for (std::int64_t flow = 1; flow <= plan.flows; ++flow) {
    push_flow(source, t_ns, flow, tick, plan);
  }
  for (std::int64_t i = 0; i < kSocketsATick; ++i) {
    push_socket(source, t_ns, (tick * kSocketsATick + i) % plan.flows + 1, tick);
  }
  if (tick % kTicksASeries == 0) {
    push_host(source, t_ns, tick);
  }
  if (tick % kTicksAStep == 0) {
    push_step(source, t_ns, tick / kTicksAStep, plan);
  }
}

std::int64_t size_of_folder(const std::filesystem::path& folder) {
  std::int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    const std::uintmax_t size = entry.file_size(gone);
    bytes += gone ? 0 : static_cast<std::int64_t>(size);
  }
  return bytes;
}

// The most that the folder had meanwhile.
std::int64_t play(Source& source, const Plan& plan, const std::filesystem::path& folder) {
  std::int64_t most_bytes = 0;
  std::int64_t next_report = kHour;
  for (std::int64_t tick = 1; tick <= plan.ticks(); ++tick) {
    push_tick(source, tick, plan);
    if (tick % 64 == 0) {
      most_bytes = std::max(most_bytes, size_of_folder(folder));
    }
    if (tick * plan.tick_ns() >= next_report) {
      fmt::print("{{\"hours\":{},\"rows\":{},\"folder_bytes\":{}}}\n", next_report / kHour,
                 source.rows(), size_of_folder(folder));
      std::fflush(stdout);
      next_report += kHour;
    }
  }
  return most_bytes;
}

void print_kept(Reader& reader) {
  fmt::print(
      "{{\"flow_rows_kept\":{},\"socket_rows_kept\":{},\"counter_rows_kept\":{},"
      "\"gauge_rows_kept\":{},\"step_rows_kept\":{},\"collective_rows_kept\":{}}}\n",
      reader.count<FlowSample>().value_or(-1), reader.count<SocketSample>().value_or(-1),
      reader.count<CounterSample>().value_or(-1), reader.count<GaugeSample>().value_or(-1),
      reader.count<Step>().value_or(-1), reader.count<Collective>().value_or(-1));
}

int run(const Plan& plan) {
  const sys::SystemClock clock;
  const PrivateFolder folder = std::move(*PrivateFolder::make());
  auto writer = Writer::open({.folder = folder.path(), .node = "growth"}, sys::Root("/"), clock);
  if (!writer) {
    fmt::print(stderr, "{}\n", describe(writer.error()));
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  std::int64_t most_bytes = 0;
  std::int64_t rows = 0;
  {
    Source source((*writer)->producer("growth"));
    most_bytes = play(source, plan, folder.path());
    rows = source.rows();
  }
  (*writer)->close();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  auto reader = Reader::open((*writer)->path());
  if (!reader) {
    fmt::print(stderr, "{}\n", describe(reader.error()));
    return 1;
  }
  print_kept(*reader);
  fmt::print(
      "{{\"hours\":{},\"flows\":{},\"slower\":{},\"rows\":{},\"most_folder_bytes\":{},"
      "\"final_file_bytes\":{},\"took_s\":{:.1f}}}\n",
      plan.hours, plan.flows, plan.slower, rows, most_bytes, size_of_folder(folder.path()),
      took.count());
  return 0;
}

}  // namespace
}  // namespace chokepoint::record

int main(int argc, char** argv) {
  chokepoint::record::Plan plan;
  const auto number = [&](int index, double otherwise) {
    return argc > index ? std::strtod(argv[index], nullptr) : otherwise;
  };
  plan.hours = number(1, plan.hours);
  plan.flows = std::lround(number(2, static_cast<double>(plan.flows)));
  plan.slower = std::lround(number(3, static_cast<double>(plan.slower)));
  if (plan.hours <= 0 || plan.flows < 1 || plan.slower < 1) {
    return 2;
  }
  return chokepoint::record::run(plan);
}
