// Frames come from strangers: whatever the bytes, no read behind them, and no packet that claims
// more than its frame has. An input is a row of frames for one decoder, so that fragments meet:
//
//   0          2              4
//   | captured | not captured | bytes …      little endian
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "capture/packet/decoder.h"

namespace {

using namespace chokepoint::capture::packet;

constexpr std::array kLinkTypes{LinkType::Null, LinkType::Ethernet,    LinkType::Raw,
                                LinkType::Loop, LinkType::LinuxCooked, LinkType::Ipv4,
                                LinkType::Ipv6, LinkType::LinuxCooked2};

bool is_within(const Packet& packet, const Frame& frame) {
  if (packet.payload == nullptr) {
    return packet.payload_bytes == 0 && packet.captured_payload_bytes == 0;
  }
  const auto before = static_cast<std::uint64_t>(packet.payload - frame.data);
  return before + packet.captured_payload_bytes <= frame.captured_bytes &&
         packet.captured_payload_bytes <= packet.payload_bytes &&
         std::uint64_t{packet.header_bytes} + packet.payload_bytes <= frame.frame_bytes;
}

void decode(Decoder& decoder, LinkType link_type, std::span<const unsigned char> bytes,
            std::uint32_t not_captured) {
  const auto exact = std::make_unique<std::uint8_t[]>(bytes.size());
  std::ranges::copy(bytes, exact.get());
  const auto captured = static_cast<std::uint32_t>(bytes.size());
  const Frame frame{.data = exact.get(),
                    .captured_bytes = captured,
                    .frame_bytes = captured + not_captured,
                    .link_type = link_type};
  Packet packet;
  decoder.decode(frame, packet);
  if (!is_within(packet, frame) || packet.tcp.sack_blocks > kMaxSackBlocks ||
      packet.tcp.window_scale > 14) {
    std::abort();
  }
}

std::uint16_t number_at(const unsigned char* at) {
  std::uint16_t number = 0;
  std::memcpy(&number, at, sizeof number);
  return number;
}

void decode_all(LinkType link_type, std::span<const unsigned char> input) {
  constexpr std::size_t kHeader = 4;
  Decoder decoder({.vxlan = true, .geneve = true, .gre = true, .ip_in_ip = true});
  while (input.size() >= kHeader) {
    const std::uint16_t captured = number_at(input.data());
    const std::uint16_t not_captured = number_at(input.data() + 2);
    input = input.subspan(kHeader);
    const auto bytes = input.first(std::min<std::size_t>(captured, input.size()));
    decode(decoder, link_type, bytes, not_captured);
    input = input.subspan(bytes.size());
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  for (const LinkType link_type : kLinkTypes) {
    decode_all(link_type, {data, size});
  }
  return 0;
}
