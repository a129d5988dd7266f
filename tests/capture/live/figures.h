// A job that trains over one link, as the watchers would show it.
#pragma once

#include <memory>
#include <vector>

#include "base/record/names.h"
#include "capture/live/figures.h"

namespace chokepoint::capture::live {

inline Figures training() {
  Figures figures;
  figures.elapsed_s = 205;
  figures.node = "node1";
  figures.program_version = "0.1.0";
  figures.labels = {{"setup", "2x2"}, {"batch-size", "16"}};
  figures.steps = {.source = record::StepSource::Marks,
                   .count = 1120,
                   .last_ms = 182.4,
                   .median_ms = 180.2,
                   .samples_per_s = 351.25};
  figures.sockets.connections = 4;
  figures.sockets.connections_ever = 6;
  figures.sockets.shares = {
      .busy = 0.9, .receive_window = 0.61, .send_buffer = 0.04, .network = 0.35};
  figures.counters.nics = {{.name = "eth0",
                            .sent_bytes = 30'000'000'000,
                            .received_bytes = 29'000'000'000,
                            .dropped = 3,
                            .sent_mbps = 950,
                            .received_mbps = 948}};
  figures.counters.series =
      std::make_shared<const std::vector<counter::SeriesValue>>(std::vector<counter::SeriesValue>{
          {record::describe_series(record::kNicSentBytes), "eth0", 30e9},
          {record::describe_series(record::kNicReceivedBytes), "eth0", 29e9},
          {record::describe_series(record::kRdmaRetransmissions), "mlx5_0/1", 12},
          {record::describe_series(record::kDiskBusy), "nvme0n1", 2.5e9}});
  figures.counters.busiest_core_percent = 71;
  figures.counters.softirq_percent = 20;
  figures.counters.own_cpu_percent = 0.8;
  figures.processes = 3;
  figures.volumes = {
      {.interface = "eth0", .sent_bytes = 24'087'500'000, .received_bytes = 24'036'250'000}};
  figures.volume_source = "packets";
  figures.sent_mbps = 940.2;
  figures.received_mbps = 938.1;
  figures.sent_packets = 15'000'000;
  figures.retransmitted_packets = 1500;
  return figures;
}

}  // namespace chokepoint::capture::live
