// What the flow engine costs a packet: a bulk transfer, many of them interleaved, and nothing but
// new flows.
#include <benchmark/benchmark.h>

#include <vector>

#include "capture/flow/engine.h"

namespace chokepoint::capture::flow {
namespace {

constexpr std::uint32_t kSegment = 1'448;

packet::Packet packet_of(std::uint32_t flow) {
  packet::Packet packet;
  packet.kind = packet::Kind::Tcp;
  packet.ends.source.words = {0, 0x0a00'0001'0000'0000U};
  packet.ends.destination.words = {0, 0x0a00'0002'0000'0000U + flow / 50'000};
  packet.ends.source_port = static_cast<std::uint16_t>(10'000 + flow % 50'000);
  packet.ends.destination_port = 5'201;
  packet.ends.protocol = 6;
  packet.header_bytes = 66;
  packet.has_ip_id = true;
  packet.tcp.flags = packet::kAck;
  packet.tcp.window = 500;
  packet.tcp.options = packet::kHasTimestamps;
  return packet;
}

struct Pair {
  packet::Packet data;
  packet::Packet ack;
};

Pair pair_of(std::uint32_t flow) {
  Pair pair{packet_of(flow), packet_of(flow)};
  pair.data.payload_bytes = kSegment;
  pair.data.frame_bytes = 66 + kSegment;
  std::swap(pair.ack.ends.source, pair.ack.ends.destination);
  std::swap(pair.ack.ends.source_port, pair.ack.ends.destination_port);
  pair.ack.frame_bytes = 66;
  return pair;
}

// Two segments and their acknowledgement a turn, as bulk transfers look; range(0) flows take turns.
void bulk(benchmark::State& state) {
  Engine engine({.keep_series = state.range(1) != 0});
  std::vector<Pair> pairs;
  for (std::uint32_t flow = 0; flow < static_cast<std::uint32_t>(state.range(0)); ++flow) {
    pairs.push_back(pair_of(flow));
  }
  std::int64_t now = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    Pair& pair = pairs[next];
    next = next + 1 == pairs.size() ? 0 : next + 1;
    for (int i = 0; i < 2; ++i) {
      pair.data.time_ns = now += 1'000;
      pair.data.tcp.timestamp = static_cast<std::uint32_t>(now / 1'000'000);
      ++pair.data.ip_id;
      engine.take(pair.data);
      pair.data.tcp.sequence += kSegment;
    }
    pair.ack.time_ns = now += 1'000;
    pair.ack.tcp.acknowledgement = pair.data.tcp.sequence;
    pair.ack.tcp.timestamp_echo = pair.data.tcp.timestamp;
    ++pair.ack.ip_id;
    engine.take(pair.ack);
  }
  state.SetItemsProcessed(3 * state.iterations());
}
BENCHMARK(bulk)->ArgNames({"flows", "series"})->ArgsProduct({{1, 8, 1'000, 30'000}, {0, 1}});

void new_flows(benchmark::State& state) {
  Engine engine;
  packet::Packet packet = packet_of(0);
  packet.tcp.flags = packet::kSyn;
  for (auto _ : state) {
    packet.time_ns += 1'000;
    ++packet.ends.destination.words[0];
    engine.take(packet);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(new_flows);

}  // namespace
}  // namespace chokepoint::capture::flow

BENCHMARK_MAIN();
