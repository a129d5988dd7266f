// What a piece of a stream costs: of Gloo's own, and of other traffic, of which only the beginning
// is looked at.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "capture/gloo/collectives.h"
#include "capture/gloo/follower.h"

namespace {

using namespace chokepoint::capture::gloo;

constexpr std::uint32_t kSegment = 1'448;
constexpr std::size_t kSnapshot = 62;

// Segments as the wire has them: a message, cut; each message begins a segment.
std::vector<std::vector<std::uint8_t>> segments_of(std::uint64_t message_bytes) {
  std::vector<std::vector<std::uint8_t>> segments;
  Header header;
  header.message_bytes = message_bytes;
  header.opcode = 1;
  header.slot = std::uint64_t{4} << 56 | std::uint64_t{9} << 24;
  header.length = message_bytes - kHeaderBytes;
  for (std::uint64_t at = 0; at < message_bytes; at += kSegment) {
    segments.emplace_back(kSnapshot);
    if (at == 0) {
      std::memcpy(segments.back().data(), &header, sizeof header);
    }
  }
  return segments;
}

void follow(benchmark::State& state) {
  const auto message_bytes = static_cast<std::uint64_t>(state.range(0));
  const auto segments = segments_of(message_bytes);
  Collectives collectives([](const Collective& each) { benchmark::DoNotOptimize(&each); });
  const std::uint32_t connection = collectives.connect({});
  Follower follower;
  Piece piece;
  for (auto _ : state) {
    const std::uint64_t end = piece.offset + message_bytes;
    for (const auto& segment : segments) {
      ++piece.time_ns;
      piece.bytes =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(kSegment, end - piece.offset));
      piece.captured = segment;
      follower.take(piece,
                    [&](const Message& message) { collectives.take(connection, true, message); });
      piece.offset += piece.bytes;
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(segments.size()));
}
BENCHMARK(follow)->Arg(1 << 20)->Arg(75'048)->Arg(1'000);

void look_at_other_traffic(benchmark::State& state) {
  std::mt19937_64 random(1);
  std::vector<std::array<std::uint8_t, 64>> segments(4'096);
  for (auto& segment : segments) {
    for (std::size_t at = 0; at < segment.size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(&segment[at], &word, 8);
    }
  }
  std::size_t found = 0;
  for (auto _ : state) {
    for (const auto& segment : segments) {
      found += looks_like_gloo(1'448, segment) ? 1U : 0U;
    }
  }
  benchmark::DoNotOptimize(found);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(segments.size()));
}
BENCHMARK(look_at_other_traffic);

}  // namespace

BENCHMARK_MAIN();
