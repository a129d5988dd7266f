// Datagrams are a stranger's word: whatever arrives, in messages of whatever size, cut wherever,
// the counts hold together.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "probe/udp/flow_meter.h"

namespace {

using namespace chokepoint::probe::udp;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

// The input is messages: length, segment size, drops, steps of the clock (a byte each), content.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr FlowIdentity kFlow{.test = 1, .run = 1, .stream = 0};
  const auto meter = std::make_unique<FlowMeter>(kFlow, 1'000'000,
                                                 ClockOffset{.offset_ns = -5, .uncertainty_ns = 3});
  std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(data), size);
  std::int64_t now = 1;
  while (rest.size() >= 4) {
    const auto number = [&](std::size_t at) { return std::to_integer<unsigned>(rest[at]); };
    const std::size_t length = std::min<std::size_t>(number(0), rest.size() - 4);
    now += static_cast<std::int64_t>(number(3)) * 100'000;
    meter->add({.bytes = rest.subspan(4, length),
                .segment_bytes = number(1),
                .arrived_ns = now,
                .queue_drops = number(2)});
    rest = rest.subspan(4 + length);
  }
  meter->finish(0);
  const SequenceCounts& counts = meter->sequence().counts();
  std::uint64_t packets = 0;
  for (const FlowInterval& interval : meter->intervals()) {
    packets += interval.packets;
  }
  check(packets == counts.received);
  check(counts.received <= meter->sequence().next_expected());
  check(counts.out_of_order <= counts.received);
  check(meter->delays().count() == counts.received);
  check(meter->lost_in_queue(100) <= meter->sequence().lost(100));
  return 0;
}
