// What the decoder makes of bytes, for tests. Each frame is copied to memory of exactly its
// captured size, where the address sanitizer sees a read behind it; `payload` points into the
// original.
#pragma once

#include <algorithm>
#include <memory>

#include "capture/packet/address_text.h"
#include "capture/packet/decoder.h"
#include "tests/fakes/packets.h"

namespace chokepoint::capture::packet {

inline constexpr Tunnels kAllTunnels{.vxlan = true, .geneve = true, .gre = true, .ip_in_ip = true};

inline Packet decoded(Decoder& decoder, Frame frame) {
  const auto exact = std::make_unique<std::uint8_t[]>(frame.captured_bytes);
  std::copy_n(frame.data, frame.captured_bytes, exact.get());
  const std::uint8_t* original = frame.data;
  frame.data = exact.get();
  Packet packet;
  decoder.decode(frame, packet);
  if (packet.payload != nullptr) {
    packet.payload = original + (packet.payload - exact.get());
  }
  return packet;
}

inline Packet decoded(const Frame& frame, const Tunnels& tunnels = {}) {
  Decoder decoder(tunnels);
  return decoded(decoder, frame);
}

inline Packet decoded(const fakes::Bytes& bytes, const Tunnels& tunnels = {}) {
  return decoded(fakes::whole(bytes), tunnels);
}

inline std::string source(const Packet& packet) {
  return text_of(packet.ends.source, packet.ends.is_ipv6);
}

inline std::string destination(const Packet& packet) {
  return text_of(packet.ends.destination, packet.ends.is_ipv6);
}

}  // namespace chokepoint::capture::packet
