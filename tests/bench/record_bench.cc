// How fast samples get from a producer to the disk, and how much room they take there.
//
// to_disk: a million rows as fast as they go, into a queue that holds them all; the time runs from
// the first push until close() has returned, so it ends with everything synced into one file.
// paced: 500,000 rows a second for two seconds with the limits that users get; what counts is that
// none is refused.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include "base/record/opening.h"
#include "base/record/writer.h"

namespace chokepoint::record {
namespace {

constexpr std::int64_t kRows = 1'000'000;
constexpr std::int64_t kStart = 86'400'000'000'000;  // a day of uptime

template <class Row>
Row row_at(std::int64_t number);

// Numbers of the size that a busy 10 Gb/s host gives: 64 series or flows, a reading each 20 ms.
std::int64_t time_of(std::int64_t number) { return kStart + number / 64 * 20'000'000; }

template <>
CounterSample row_at(std::int64_t number) {
  return {.t_ns = time_of(number),
          .bin_ns = 20'000'000,
          .series = number % 64,
          .value = static_cast<double>(number) * 387'001,
          .peak_per_s = 1.2e9};
}

template <>
FlowSample row_at(std::int64_t number) {
  return {.t_ns = time_of(number),
          .bin_ns = 20'000'000,
          .flow = number % 64,
          .direction = static_cast<Direction>(number % 2),
          .packets = 17'000,
          .bytes = 25'000'000 + number % 1000,
          .payload_bytes = 24'000'000 + number % 1000,
          .retransmitted_packets = number % 3,
          .retransmitted_bytes = number % 3 * 1448,
          .out_of_order = 0,
          .duplicate_acks = number % 5,
          .zero_windows = 0,
          .window_full = 0,
          .congestion_marks = 0,
          .rtt_us = 15'000 + number % 700,
          .min_rtt_us = 14'900,
          .max_in_flight_bytes = 6'220'000,
          .window_bytes = 6'291'456,
          .min_window_bytes = 6'000'000};
}

template <>
SocketSample row_at(std::int64_t number) {
  return {.t_ns = time_of(number),
          .flow = number % 64,
          .state = 1,
          .congestion_state = 0,
          .mss_bytes = 1448,
          .cwnd_packets = 4000 + number % 300,
          .ssthresh_packets = 2800,
          .rtt_us = 15'000 + number % 700,
          .rtt_variance_us = 200,
          .min_rtt_us = 14'900,
          .receive_rtt_us = 15'100,
          .timeout_us = 216'000,
          .bytes_sent = number * 387'001,
          .bytes_acked = number * 387'000,
          .bytes_received = number * 387'000,
          .bytes_retransmitted = number * 3,
          .retransmits = number / 500,
          .lost_packets = 0,
          .unacked_packets = 4000,
          .reordering = 3,
          .reorder_seen = 0,
          .dsack_duplicates = 0,
          .delivered = number * 270,
          .delivered_ce = 0,
          .delivery_bytes_per_s = 1'200'000'000,
          .pacing_bytes_per_s = 1'300'000'000,
          .app_limited = 0,
          .busy_us = number * 300,
          .receive_window_limited_us = number * 20,
          .send_buffer_limited_us = 0,
          .unsent_bytes = 2'000'000,
          .send_queue_bytes = 8'000'000,
          .receive_queue_bytes = 0,
          .send_window_bytes = 6'291'456,
          .receive_space_bytes = 3'000'000};
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::unique_ptr<Writer> writer_in(const PrivateFolder& folder, const Limits& limits,
                                  const sys::Clock& clock) {
  return std::move(*Writer::open({.folder = folder.path(), .node = "bench", .limits = limits},
                                 sys::Root("/"), clock));
}

template <class Row>
void to_disk(benchmark::State& state) {
  const sys::SystemClock clock;
  Limits limits;
  limits.queue_bytes = kRows * static_cast<std::int64_t>(sizeof(Row) + 64);
  double bytes = 0;
  const double cpu_before = cpu_seconds();
  for (auto pass : state) {
    state.PauseTiming();
    const PrivateFolder folder = std::move(*PrivateFolder::make());
    auto writer = writer_in(folder, limits, clock);
    Producer producer = writer->producer("bench");
    state.ResumeTiming();
    for (std::int64_t number = 0; number < kRows; ++number) {
      producer.push(row_at<Row>(number));
    }
    const WriterStatus status = writer->close();
    state.PauseTiming();
    if (status.dropped > 0) {
      state.SkipWithError("rows were dropped");
    }
    bytes = static_cast<double>(status.bytes);
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * kRows);
  state.counters["bytes_per_sample"] = bytes / kRows;
  // Both threads together: what a busy machine does not change.
  state.counters["samples_per_cpu_s"] =
      static_cast<double>(state.iterations() * kRows) / (cpu_seconds() - cpu_before);
}

template <class Row>
void paced(benchmark::State& state) {
  const sys::SystemClock clock;
  constexpr std::int64_t kBurst = 500;
  double refused = 0;
  for (auto pass : state) {
    const PrivateFolder folder = std::move(*PrivateFolder::make());
    auto writer = writer_in(folder, Limits{}, clock);
    Producer producer = writer->producer("bench");
    auto next = std::chrono::steady_clock::now();
    for (std::int64_t number = 0; number < kRows; ++number) {
      producer.push(row_at<Row>(number));
      if (number % kBurst == 0) {
        next += std::chrono::milliseconds(1);
        std::this_thread::sleep_until(next);
      }
    }
    refused += static_cast<double>(writer->close().dropped);
  }
  state.counters["refused_percent"] =
      100 * refused / static_cast<double>(state.iterations() * kRows);
}

BENCHMARK(to_disk<CounterSample>)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(to_disk<FlowSample>)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(to_disk<SocketSample>)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(paced<CounterSample>)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace chokepoint::record

BENCHMARK_MAIN();
