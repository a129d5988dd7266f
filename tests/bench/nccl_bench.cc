// What reading the rings of NCCL's plugin costs: a look at a process that told nothing, and each
// collective with its two network parts and a kernel.
#include <benchmark/benchmark.h>

#include "base/record/opening.h"
#include "capture/nccl/reader.h"
#include "tests/capture/nccl/ring_writer.h"

namespace {

using namespace chokepoint::capture::nccl;
using chokepoint::record::PrivateFolder;

constexpr std::uint64_t kSecond = 1'000'000'000;

struct Watched {
  PrivateFolder folder = std::move(*PrivateFolder::make());
  RingWriter writer{folder.path() / "1.nccl"};
  std::size_t rows = 0;
  Reader reader{folder.path(), [this](const chokepoint::record::Collective&) { ++rows; },
                [](std::uint64_t, std::uint64_t) { return std::optional<Reader::Owner>(); }};
};

void look_in_vain(benchmark::State& state) {
  Watched watched;
  std::int64_t now_ns = 10 * kSecond;
  for (auto _ : state) {
    watched.reader.tick(now_ns += 50'000'000);
  }
}
BENCHMARK(look_in_vain)->Unit(benchmark::kMicrosecond);

void read_collectives(benchmark::State& state) {
  constexpr std::uint64_t kAtOnce = 500;
  Watched watched;
  std::uint64_t now_ns = 10 * kSecond;
  std::uint64_t id = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (std::uint64_t i = 0; i < kAtOnce; ++i) {
      ++id;
      watched.writer.push(0, Kind::Collective, 1,
                          {{word::kId, id},
                           {word::kSequence, id},
                           {word::kFunction, 1},
                           {word::kBytes, 4'096},
                           {word::kEnqueued, now_ns + i},
                           {word::kChannels, 1},
                           {word::kPeer, kNone}});
      for (const std::uint64_t sends : {std::uint64_t{0}, std::uint64_t{1} << 32U}) {
        watched.writer.push(1, Kind::Proxy, 1,
                            {{word::kId, id},
                             {word::kChannel, sends},
                             {word::kProxyBegin, now_ns},
                             {word::kProxyEnd, now_ns + i}});
      }
      watched.writer.push(1, Kind::Kernel, 1,
                          {{word::kId, id},
                           {word::kGpuBegin, now_ns},
                           {word::kGpuEnd, now_ns + i},
                           {word::kSeenBegin, now_ns},
                           {word::kSeenEnd, now_ns + i}});
    }
    now_ns += kSecond;
    state.ResumeTiming();
    watched.reader.tick(static_cast<std::int64_t>(now_ns));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(watched.rows));
}
BENCHMARK(read_collectives)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
