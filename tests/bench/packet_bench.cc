// What decoding costs a frame, by what is in it.
#include <benchmark/benchmark.h>

#include "capture/packet/decoder.h"
#include "tests/fakes/packets.h"

namespace chokepoint::capture::packet {
namespace {

using fakes::Bytes;
using fakes::FrameBuilder;

void decode_each(benchmark::State& state, const Bytes& bytes, const Tunnels& tunnels = {}) {
  constexpr std::size_t kSnapshot = 128;
  constexpr std::size_t kCopies = 64;
  const std::vector<Bytes> copies(kCopies, bytes);
  Decoder decoder(tunnels);
  Packet packet;
  std::size_t next = 0;
  for (auto _ : state) {
    decoder.decode(fakes::cut(copies[next], kSnapshot), packet);
    benchmark::DoNotOptimize(packet);
    next = (next + 1) % kCopies;
  }
  state.SetItemsProcessed(state.iterations());
}

void tcp_with_timestamps(benchmark::State& state) {
  decode_each(state, FrameBuilder()
                         .ethernet()
                         .ipv4()
                         .tcp({.options = fakes::timestamps(7, 6)})
                         .payload(1'448)
                         .build());
}
BENCHMARK(tcp_with_timestamps);

void tcp_with_sack(benchmark::State& state) {
  using fakes::operator+;
  const Bytes options =
      fakes::timestamps(7, 6) + fakes::selective_acknowledgement({{10, 20}, {30, 40}});
  decode_each(state, FrameBuilder().ethernet().ipv4().tcp({.options = options}).build());
}
BENCHMARK(tcp_with_sack);

void tcp_over_ipv6(benchmark::State& state) {
  decode_each(state, FrameBuilder()
                         .ethernet()
                         .ipv6()
                         .tcp({.options = fakes::timestamps(7, 6)})
                         .payload(1'428)
                         .build());
}
BENCHMARK(tcp_over_ipv6);

void udp(benchmark::State& state) {
  decode_each(state, FrameBuilder().ethernet().ipv4().udp().payload(1'000).build());
}
BENCHMARK(udp);

void tcp_inside_vxlan(benchmark::State& state) {
  decode_each(state,
              FrameBuilder()
                  .ethernet()
                  .ipv4()
                  .udp({.destination_port = 4789})
                  .vxlan(7)
                  .ethernet()
                  .ipv4()
                  .tcp({.options = fakes::timestamps(7, 6)})
                  .payload(1'398)
                  .build(),
              {.vxlan = true});
}
BENCHMARK(tcp_inside_vxlan);

}  // namespace
}  // namespace chokepoint::capture::packet

BENCHMARK_MAIN();
