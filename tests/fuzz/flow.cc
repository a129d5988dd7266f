// Arbitrary packets between a few ends: nothing is lost count of, times and sums stay sane, and the
// memory for details keeps to its budget.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "capture/flow/engine.h"

namespace {

using namespace chokepoint::capture;

// What a packet may be made of, as it lies in the input.
struct Recipe {
  std::uint32_t sequence;
  std::uint32_t acknowledgement;
  std::uint32_t payload_bytes;
  std::int32_t later_us;
  std::uint32_t timestamp;
  std::uint32_t timestamp_echo;
  std::uint32_t sack[4];
  std::uint16_t window;
  std::uint16_t ip_id;
  std::uint16_t mss;
  std::uint8_t flags;
  std::uint8_t options;
  std::uint8_t sack_blocks;
  std::uint8_t ends;
  std::uint8_t interface;
  std::uint8_t window_scale;
};

packet::Packet packet_of(const Recipe& recipe, std::int64_t time_ns) {
  packet::Packet packet;
  packet.time_ns = time_ns;
  packet.interface = recipe.interface & 1;
  packet.kind = (recipe.ends & 0x80) != 0 ? packet::Kind::Udp : packet::Kind::Tcp;
  packet.ends.source.words[1] = recipe.ends & 1;
  packet.ends.destination.words[1] = (recipe.ends & 1) ^ 1;
  packet.ends.source_port = packet.ends.destination_port =
      static_cast<std::uint16_t>(recipe.ends >> 1 & 0x1f);
  packet.header_bytes = 66;
  packet.payload_bytes = recipe.payload_bytes % 70'000;
  packet.frame_bytes = 66 + packet.payload_bytes;
  packet.has_ip_id = (recipe.interface & 2) != 0;
  packet.ip_id = recipe.ip_id;
  packet.tcp.sequence = recipe.sequence;
  packet.tcp.acknowledgement = recipe.acknowledgement;
  packet.tcp.timestamp = recipe.timestamp;
  packet.tcp.timestamp_echo = recipe.timestamp_echo;
  packet.tcp.window = recipe.window;
  packet.tcp.mss = recipe.mss;
  packet.tcp.window_scale = recipe.window_scale;
  packet.tcp.flags = recipe.flags;
  packet.tcp.options = recipe.options;
  packet.tcp.sack_blocks = recipe.sack_blocks % 3;
  packet.tcp.sack[0] = {recipe.sack[0], recipe.sack[1]};
  packet.tcp.sack[1] = {recipe.sack[2], recipe.sack[3]};
  return packet;
}

void require(bool holds, int line = __builtin_LINE()) {
  if (!holds) {
    std::fprintf(stderr, "line %d does not hold\n", line);
    std::abort();
  }
}

void check(const flow::DirectionFacts& facts) {
  const auto& by = facts.retransmissions;
  require(facts.unique_bytes <= facts.payload_bytes);
  require(by.fast + by.timeout + by.probe + by.unknown == facts.retransmitted_packets);
  require(by.spurious <= facts.retransmitted_packets);
  require(facts.lost_before_tap <= facts.retransmitted_packets);
  require(facts.busy_s >= 0 && facts.window_limited_s >= 0 && facts.longest_idle_s >= 0);
  require(facts.window_limited_s <= facts.busy_s + 1e-9);
  require(facts.last_ns >= facts.first_ns || facts.frames == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  flow::Engine engine({.flows = 8, .detail_bytes = 1 << 20});
  std::int64_t now = 1'000'000'000;
  std::uint64_t frames = 0;
  for (; size >= sizeof(Recipe); data += sizeof(Recipe), size -= sizeof(Recipe)) {
    Recipe recipe;
    std::memcpy(&recipe, data, sizeof(recipe));
    now += std::int64_t{recipe.later_us} * 1'000;
    const flow::Seen& seen = engine.take(packet_of(recipe, now));
    require(seen.is_flow && seen.direction < 2);
    require(seen.new_from <= recipe.payload_bytes % 70'000);
    ++frames;
  }
  require(engine.flows() <= 8);
  std::uint64_t counted = 0;
  engine.visit([&counted](std::uint32_t, const flow::FlowFacts& facts) {
    for (const flow::DirectionFacts& each : facts.directions) {
      check(each);
      counted += each.frames;
    }
  });
  require(counted <= frames);
  engine.drain(
      true, [](std::uint32_t, std::uint8_t, const flow::Bin& bin) { require(bin.width_ns > 0); });
  return 0;
}
