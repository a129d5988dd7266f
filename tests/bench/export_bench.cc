// How fast a run is exported: a made-up node of 16 connections with bins of 10 ms, sockets read
// every 20 ms, 40 counters and gauges ten times a second, steps of 100 ms with four collectives
// each, for so many seconds; written as each format into a file.
//
// usage: export_bench [FOLDER [SECONDS]]    (a temporary folder, 150 s: a trace of a million
// events)
//
// A FOLDER that holds records already is read as it is. Prints a line of JSON for each of five
// repetitions of reading alone, and of each format.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "analysis/export/formats.h"
#include "analysis/export/perfetto/perfetto.h"
#include "analysis/export/tables.h"
#include "tests/analysis/run_maker.h"
#include "tests/bench/made_rows.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;
using record::Direction;

constexpr int kFlows = 16;
constexpr int kSeries = 40;
constexpr double kStepMs = 100;
constexpr int kCollectivesAStep = 4;
constexpr int kRepetitions = 5;

class Maker {
 public:
  Maker(const fs::path& folder, double length_ms)
      : length_ms_(length_ms), node_(folder, {.name = "n0", .length_ms = length_ms}) {
    for (int number = 0; number < kFlows; ++number) {
      flows_.push_back(node_.flow(fmt::format("10.0.0.1:{}", 4000 + number),
                                  fmt::format("10.0.0.2:{}", 5000 + number)));
    }
    for (int number = 0; number < kSeries; ++number) {
      series_.push_back(node_.add(record::Series{
          .name = fmt::format("made.{}", number), .subject = "eth0", .unit = "bytes"}));
    }
  }

  void write() {
    std::int64_t tick = 0;
    for (double ms = 0; ms < length_ms_; ms += 10) {
      push_tick(ms, ++tick);
    }
    for (double ms = 0; ms < length_ms_; ms += kStepMs) {
      push_step(ms);
    }
    node_.finish();
  }

 private:
  void push_tick(double ms, std::int64_t tick) {
    for (const std::int64_t flow : flows_) {
      for (const Direction direction : {Direction::AToB, Direction::BToA}) {
        record::FlowSample sample = record::busy_bin(tick, 400, 500'000);
        sample.t_ns = node_.at_ms(ms + 10);
        sample.bin_ns = 10 * kMsNs;
        sample.flow = flow;
        sample.direction = direction;
        node_.push(sample);
      }
      if (tick % 2 == 0) {
        record::SocketSample socket = record::busy_socket(tick, tick * 500'000);
        socket.t_ns = node_.at_ms(ms);
        socket.flow = flow;
        node_.push(socket);
      }
    }
    for (const std::int64_t series : series_) {
      if (tick % 10 == 0) {
        node_.push(record::CounterSample{
            .t_ns = node_.at_ms(ms), .series = series, .value = static_cast<double>(tick * tick)});
      }
    }
  }

  void push_step(double ms) {
    const auto number = static_cast<std::int64_t>(ms / kStepMs);
    node_.push(record::Step{.start_ns = node_.at_ms(ms),
                            .end_ns = node_.at_ms(ms + kStepMs),
                            .number = number,
                            .rank = 0});
    for (int part = 0; part < kCollectivesAStep; ++part) {
      const double begin = ms + 20.0 * part;
      node_.push(record::Collective{.start_ns = node_.at_ms(begin),
                                    .end_ns = node_.at_ms(begin + 30),
                                    .number = number * kCollectivesAStep + part,
                                    .kind = record::CollectiveKind::AllReduce,
                                    .rank = 0,
                                    .bytes = 1'000'000,
                                    .own_ready_ns = node_.at_ms(begin),
                                    .waited_ns = 2 * kMsNs,
                                    .flow = flows_.front()});
    }
  }

  double length_ms_;
  NodeMaker node_;
  std::vector<std::int64_t> flows_;
  std::vector<std::int64_t> series_;
};

bool holds_records(const fs::path& folder) {
  return std::ranges::any_of(fs::directory_iterator(folder),
                             [](const auto& entry) { return entry.path().extension() == ".db"; });
}

// All rows, and nothing done with them: what no format can be faster than.
void read_only(ExportedRun& run) {
  for (std::size_t node = 0; node < run.nodes(); ++node) {
    each_table([&](const auto& table) {
      using Row = typename std::remove_cvref_t<decltype(table)>::Of;
      run.each<Row>(node, [](const Row&) {});
    });
  }
}

struct Done {
  std::uint64_t events = 0;
  std::uintmax_t bytes = 0;
};

Done write_as(const std::string& format, ExportedRun& run, const fs::path& place) {
  if (format == "read") {
    read_only(run);
    return {};
  }
  if (format == "csv") {
    Done done;
    const auto files = write_csv(run, place);
    for (const WrittenFile& file : *files) {
      done.bytes += file.bytes;
    }
    return done;
  }
  const std::unique_ptr<cli::Output> out = std::move(*cli::open_file(place));
  Done done;
  if (format == "perfetto") {
    done.events = write_perfetto(run, *out).events;
  } else {
    write_json(run, nlohmann::ordered_json::object(), *out);
  }
  done.bytes = out->finish() ? out->bytes() : 0;
  return done;
}

void measure(const std::string& format, const fs::path& folder, const fs::path& place) {
  const auto start = std::chrono::steady_clock::now();
  record::Run records = *record::open_run(folder);
  ExportedRun run("bench", records, {}, {});
  const auto loaded = std::chrono::steady_clock::now();
  const Done done = write_as(format, run, place / format);
  const auto end = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(end - start).count();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"format\": \"{}\", \"rows\": {}, \"events\": {}, \"mb\": {:.1f}, \"load_s\": {:.3f}, "
      "\"total_s\": {:.3f}, \"rows_per_s\": {:.0f}, \"events_per_s\": {:.0f}, \"mb_per_s\": "
      "{:.0f}, \"most_mb\": {}}}\n",
      format, run.rows(), done.events, static_cast<double>(done.bytes) / 1e6,
      std::chrono::duration<double>(loaded - start).count(), seconds,
      static_cast<double>(run.rows()) / seconds, static_cast<double>(done.events) / seconds,
      static_cast<double>(done.bytes) / 1e6 / seconds, usage.ru_maxrss / 1024);
  std::fflush(stdout);
  fs::remove_all(place / format);
}

int main_of(int argc, char** argv) {
  constexpr double kSeconds = 90;
  constexpr double kMsPerSecond = 1e3;
  const record::PrivateFolder temporary = std::move(*record::PrivateFolder::make());
  const fs::path folder = argc > 1 ? fs::path(argv[1]) : temporary.path() / "records";
  fs::create_directories(folder);
  if (!holds_records(folder)) {
    Maker(folder, (argc > 2 ? std::atof(argv[2]) : kSeconds) * kMsPerSecond).write();
  }
  for (const char* format : {"read", "perfetto", "csv", "json"}) {
    for (int repetition = 0; repetition < kRepetitions; ++repetition) {
      measure(format, folder, temporary.path());
    }
  }
  return 0;
}

}  // namespace
}  // namespace chokepoint::analysis

int main(int argc, char** argv) { return chokepoint::analysis::main_of(argc, argv); }
