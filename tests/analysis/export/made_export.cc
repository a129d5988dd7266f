#include "tests/analysis/export/made_export.h"

#include <fmt/format.h>

#include "analysis/export/perfetto/perfetto.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;

constexpr std::int64_t kApartNs = 1'000'000'000;
constexpr int kSteps = 20;
constexpr double kStepMs = 100;

void add_collectives(NodeMaker& node, std::int64_t flow, double late_ms) {
  for (int step = 0; step < kSteps; ++step) {
    const double begin = step * kStepMs + 60;
    for (int bucket = 0; bucket < 2; ++bucket) {
      const double at = begin + bucket * 5;  // they overlap
      node.push(record::Collective{.start_ns = node.at_ms(at),
                                   .end_ns = node.at_ms(at + 20),
                                   .number = step * 2 + bucket,
                                   .kind = record::CollectiveKind::AllReduce,
                                   .source = record::CollectiveSource::Gloo,
                                   .communicator = 7,
                                   .bytes = 1'000'000,
                                   .own_ready_ns = node.at_ms(at),
                                   .peer_ready_ns = node.at_ms(at + late_ms),
                                   .first_data_ns = node.at_ms(at + late_ms),
                                   .last_data_ns = node.at_ms(at + 20),
                                   .waited_ns = static_cast<std::int64_t>(late_ms * 1e6),
                                   .flow = flow});
    }
  }
}

void add_rows(NodeMaker& node, std::int64_t flow, bool is_first) {
  node.steps({.count = kSteps, .length_ms = kStepMs});
  for (const Direction direction : {Direction::AToB, Direction::BToA}) {
    for (int step = 0; step < kSteps; ++step) {
      const double begin = step * kStepMs + 60;
      node.traffic(flow, direction,
                   {.from_ms = begin,
                    .to_ms = begin + 20,
                    .bytes_per_s = 1e8,
                    .like = {.retransmitted_packets = step % 2, .rtt_us = 120 + step}});
      node.push(record::FlowMark{.t_ns = node.at_ms(begin),
                                 .flow = flow,
                                 .direction = direction,
                                 .sequence = std::int64_t{1000} * step});
    }
  }
  node.sockets(
      flow, is_first ? Direction::AToB : Direction::BToA,
      {.from_ms = 0,
       .to_ms = 2000,
       .first = {.cwnd_packets = 10, .rtt_us = 100, .retransmits = 0, .busy_us = 0},
       .last = {.cwnd_packets = 90, .rtt_us = 180, .retransmits = 5, .busy_us = 1'000'000}});
  add_collectives(node, flow, is_first ? 3 : 0);
}

void add_host(NodeMaker& node) {
  const std::int64_t sent =
      node.add(record::Series{.name = "nic.sent_bytes", .subject = "eth0", .unit = "bytes"});
  node.push(record::CounterSample{.t_ns = node.at_ms(0), .series = sent, .value = 5e9});
  node.push(record::CounterSample{
      .t_ns = node.at_ms(1000), .series = sent, .value = 5.125e9, .peak_per_s = 2.5e8});
  const std::int64_t busy =
      node.add(record::Series{.name = "cpu.busy_ns", .subject = "cpu3", .unit = "ns"});
  node.push(record::CounterSample{.t_ns = node.at_ms(0), .series = busy, .value = 0});
  node.push(record::CounterSample{.t_ns = node.at_ms(1000), .series = busy, .value = 2.5e8});
  const std::int64_t gpu = node.add(record::Series{.name = "gpu.utilization_percent",
                                                   .subject = "0000:3b:00.0",
                                                   .unit = "percent",
                                                   .kind = record::SeriesKind::Gauge});
  node.push(record::GaugeSample{
      .t_ns = node.at_ms(1000), .bin_ns = kMsNs * 500, .series = gpu, .value = 33.25, .peak = 90});
  node.event(700, "interface-down", "eth0", R"({"state":"down"})");
  node.add(record::Label{.key = "parallelism", .value = "DP"});
  node.add(record::Probe{.t_ns = node.at_ms(-500),
                         .kind = "tcp",
                         .peer = "b",
                         .direction = "send",
                         .schema = "chokepoint.probe.tcp/1",
                         .document = "{}"});
  node.add(record::ClockOffset{
      .t_ns = node.at_ms(1), .peer = "b", .offset_ns = -kApartNs, .error_ns = 1000});
}

}  // namespace

void make_full_run(RunMaker& run) {
  NodeMaker& a = run.node({.name = "a", .address = "10.0.0.1", .rank = 0});
  NodeMaker& b = run.node(
      {.name = "b", .address = "10.0.0.2", .rank = 1, .start_ns = NodePlan().start_ns + kApartNs});
  for (NodeMaker* node : {&a, &b}) {
    const std::int64_t flow = node->flow("10.0.0.1:4000", "10.0.0.2:5000");
    add_rows(*node, flow, node == &a);
    add_host(*node);
  }
  run.finish();
}

TraceContent exported_trace(const std::filesystem::path& folder, std::optional<Span> wanted) {
  return read_trace(exported_text(
      folder, [](ExportedRun& run, cli::Output& out) { write_perfetto(run, out); }, wanted));
}

}  // namespace chokepoint::analysis
