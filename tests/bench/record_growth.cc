// How large the record of a long run gets: samples of many flows over made-up hours, as fast as
// the disk takes them, with the limits that users get. Three rows a flow and interval: a flow
// sample each way and a socket sample.
//
// usage: record_growth [HOURS [FLOWS [INTERVAL_MS]]]    (24 hours, 200 flows, 2000 ms)
//
// Prints a line of JSON a made-up hour, and the totals.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/record/private_folder.h"
#include "base/record/reader.h"
#include "base/record/writer.h"

namespace chokepoint::record {
namespace {

constexpr std::int64_t kHour = 3'600'000'000'000;

struct Plan {
  std::int64_t hours = 24;
  std::int64_t flows = 200;
  std::int64_t interval_ns = 2'000'000'000;
};

// The disk decides the pace here, so a row that is refused is pushed again.
template <class Row>
void push(Producer& producer, const Row& row) {
  while (!producer.push(row)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void push_flow(Producer& producer, std::int64_t t_ns, std::int64_t flow, std::int64_t tick,
               const Plan& plan) {
  for (const Direction direction : {Direction::AToB, Direction::BToA}) {
    push(producer, FlowSample{.t_ns = t_ns,
                              .bin_ns = plan.interval_ns,
                              .flow = flow,
                              .direction = direction,
                              .packets = 1700,
                              .bytes = 2'500'000 + tick,
                              .payload_bytes = 2'400'000 + tick,
                              .retransmitted_packets = tick % 3,
                              .retransmitted_bytes = tick % 3 * 1448,
                              .out_of_order = 0,
                              .duplicate_acks = tick % 5,
                              .zero_windows = 0,
                              .window_full = 0,
                              .rtt_us = 15'000 + tick % 700,
                              .min_rtt_us = 14'900,
                              .max_in_flight_bytes = 6'220'000,
                              .window_bytes = 6'291'456,
                              .min_window_bytes = 6'000'000});
  }
  push(producer, SocketSample{.t_ns = t_ns,
                              .flow = flow,
                              .state = 1,
                              .congestion_state = 0,
                              .mss_bytes = 1448,
                              .cwnd_packets = 4000 + tick % 300,
                              .ssthresh_packets = 2800,
                              .rtt_us = 15'000 + tick % 700,
                              .rtt_variance_us = 200,
                              .min_rtt_us = 14'900,
                              .receive_rtt_us = 15'100,
                              .timeout_us = 216'000,
                              .bytes_sent = tick * 2'500'000,
                              .bytes_acked = tick * 2'500'000,
                              .bytes_received = tick * 2'500'000,
                              .bytes_retransmitted = tick,
                              .retransmits = tick,
                              .lost_packets = 0,
                              .unacked_packets = 4000,
                              .reordering = 3,
                              .delivered = tick * 1700,
                              .delivered_ce = 0,
                              .delivery_bytes_per_s = 1'200'000'000,
                              .pacing_bytes_per_s = 1'300'000'000,
                              .app_limited = 0,
                              .busy_us = tick * 3000,
                              .receive_window_limited_us = tick * 20,
                              .send_buffer_limited_us = 0,
                              .unsent_bytes = 2'000'000,
                              .send_queue_bytes = 8'000'000,
                              .receive_queue_bytes = 0,
                              .send_window_bytes = 6'291'456,
                              .receive_space_bytes = 3'000'000});
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
    Producer producer = (*writer)->producer("growth");
    std::int64_t next_report = kHour;
    for (std::int64_t tick = 1; tick * plan.interval_ns <= plan.hours * kHour; ++tick) {
      const std::int64_t t_ns = tick * plan.interval_ns;
      for (std::int64_t flow = 0; flow < plan.flows; ++flow, rows += 3) {
        push_flow(producer, t_ns, flow, tick, plan);
      }
      if (tick % 64 == 0) {
        most_bytes = std::max(most_bytes, size_of_folder(folder.path()));
      }
      if (t_ns >= next_report) {
        next_report += kHour;
        fmt::print("{{\"hours\":{:.1f},\"rows\":{},\"folder_bytes\":{}}}\n",
                   static_cast<double>(t_ns) / kHour, rows, size_of_folder(folder.path()));
        std::fflush(stdout);
      }
    }
  }
  (*writer)->close();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  auto reader = Reader::open((*writer)->path());
  fmt::print(
      "{{\"hours\":{},\"flows\":{},\"interval_ms\":{},\"rows\":{},\"most_folder_bytes\":{},"
      "\"final_file_bytes\":{},\"flow_rows_kept\":{},\"socket_rows_kept\":{},\"took_s\":{:.1f}}}\n",
      plan.hours, plan.flows, plan.interval_ns / 1'000'000, rows, most_bytes,
      size_of_folder(folder.path()), reader->count<FlowSample>().value_or(-1),
      reader->count<SocketSample>().value_or(-1), took.count());
  return 0;
}

}  // namespace
}  // namespace chokepoint::record

int main(int argc, char** argv) {
  chokepoint::record::Plan plan;
  const auto number = [&](int index, std::int64_t otherwise) {
    return argc > index ? std::strtoll(argv[index], nullptr, 10) : otherwise;
  };
  plan.hours = number(1, plan.hours);
  plan.flows = number(2, plan.flows);
  plan.interval_ns = number(3, plan.interval_ns / 1'000'000) * 1'000'000;
  if (plan.hours < 1 || plan.flows < 1 || plan.interval_ns < 1) {
    return 2;
  }
  return chokepoint::record::run(plan);
}
