// Packets are a stranger's word: whatever they say, the counts hold together.
#include <cstdlib>
#include <cstring>
#include <span>

#include "capture/roce/tracker.h"

namespace {

using namespace chokepoint::capture;

void check(bool holds) {
  if (!holds) {
    std::abort();
  }
}

constexpr std::size_t kPacketBytes = 12;

packet::Packet packet_of(std::span<const std::uint8_t> bytes) {
  packet::Packet packet;
  packet.kind = packet::Kind::Roce;
  packet.roce.opcode = bytes[0];
  packet.roce.queue_pair = bytes[1] & 7U;
  packet.roce.sequence = std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 8 | bytes[4];
  packet.roce.syndrome = bytes[5];
  packet.roce.has_aeth = (bytes[6] & 1) != 0;
  packet.roce.has_reth = (bytes[6] & 2) != 0;
  packet.congestion_bits = bytes[6] >> 2 & 3;
  packet.has_ip_id = (bytes[6] & 16) != 0;
  packet.ip_id = bytes[7];
  packet.roce.dma_bytes = std::uint32_t{bytes[8]} << 24 | std::uint32_t{bytes[9]} << 8;
  packet.payload_bytes = std::uint32_t{bytes[10]} << 4;
  packet.payload = bytes.data();
  packet.captured_payload_bytes = std::min<std::uint32_t>(bytes[11], kPacketBytes);
  packet.frame_bytes = packet.payload_bytes + 42;
  return packet;
}

}  // namespace

// The input is packets of 12 bytes.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  roce::Tracker tracker({.queue_pairs = 4});
  std::span<const std::uint8_t> rest(data, size);
  std::uint64_t taken = 0;
  for (; rest.size() >= kPacketBytes; rest = rest.subspan(kPacketBytes)) {
    tracker.take(packet_of(rest));
    ++taken;
  }
  std::uint64_t packets = 0;
  tracker.visit([&](const roce::QueuePairFacts& facts) {
    packets += facts.packets;
    check(facts.messages + facts.retransmitted_packets + facts.duplicates <= facts.packets);
    check(facts.payload_bytes + facts.retransmitted_bytes <= facts.bytes);
    check(facts.missing_packets < std::uint64_t{1} << 40);
  });
  check(packets <= taken && (tracker.folded() != 0 || packets == taken));
  return 0;
}
