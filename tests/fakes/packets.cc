#include "tests/fakes/packets.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace chokepoint::fakes {

void FrameBuilder::put(std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) {
    bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
}

void FrameBuilder::put_address(int family, const char* text) {
  Bytes address(family == AF_INET ? 4 : 16);
  if (inet_pton(family, text, address.data()) != 1) {
    throw std::invalid_argument(text);
  }
  bytes(address);
}

FrameBuilder& FrameBuilder::ethernet(const Ethernet& fields) {
  const std::size_t begin = here();
  put(0x0200'0000'0002, 6);
  put(0x0200'0000'0001, 6);
  put(fields.type.value_or(0), 2);
  layers_.push_back({.ether_type = 0x6558, .next_type_at = fields.type ? kNowhere : begin + 12});
  return *this;
}

FrameBuilder& FrameBuilder::vlan(const Vlan& fields) {
  const std::size_t begin = here();
  put(fields.id, 2);
  put(0, 2);
  layers_.push_back({.ether_type = fields.tag_type, .next_type_at = begin + 2});
  return *this;
}

FrameBuilder& FrameBuilder::linux_cooked() {
  bytes(Bytes(16));
  layers_.push_back({.next_type_at = 14});
  return *this;
}

FrameBuilder& FrameBuilder::linux_cooked2() {
  bytes(Bytes(20));
  layers_.push_back({.next_type_at = 0});
  return *this;
}

FrameBuilder& FrameBuilder::mpls(std::uint32_t label, bool is_last) {
  put(std::uint64_t{label} << 12 | (is_last ? 0x100U : 0U) | 64U, 4);
  layers_.push_back({.ether_type = 0x8847});
  return *this;
}

FrameBuilder& FrameBuilder::ipv4(const Ipv4& fields) {
  constexpr std::uint16_t kMore = 0x2000;
  const std::size_t begin = here();
  const std::size_t header = 20 + fields.options.size();
  put(0x40 | header / 4, 1);
  put(fields.type_of_service, 1);
  put(fields.total_length.value_or(0), 2);
  put(fields.id, 2);
  put(fields.fragment_offset / 8U | (fields.more_fragments ? kMore : 0U), 2);
  put(fields.hop_limit, 1);
  put(fields.protocol.value_or(0), 1);
  put(0, 2);
  put_address(AF_INET, fields.source);
  put_address(AF_INET, fields.destination);
  bytes(fields.options);
  layers_.push_back({.ether_type = 0x0800,
                     .protocol = 4,
                     .next_protocol_at = fields.protocol ? kNowhere : begin + 9,
                     .length_at = fields.total_length ? kNowhere : begin + 2,
                     .length_from = begin,
                     .checksum_from = begin,
                     .checksum_end = begin + header});
  return *this;
}

FrameBuilder& FrameBuilder::ipv6(const Ipv6& fields) {
  const std::size_t begin = here();
  put(0x6000'0000U | std::uint32_t{fields.traffic_class} << 20, 4);
  put(fields.payload_length.value_or(0), 2);
  put(fields.next_header.value_or(59), 1);
  put(fields.hop_limit, 1);
  put_address(AF_INET6, fields.source);
  put_address(AF_INET6, fields.destination);
  layers_.push_back({.ether_type = 0x86dd,
                     .protocol = 41,
                     .next_protocol_at = fields.next_header ? kNowhere : begin + 6,
                     .length_at = fields.payload_length ? kNowhere : begin + 4,
                     .length_from = begin + 40});
  return *this;
}

FrameBuilder& FrameBuilder::extension(const Extension& fields) {
  constexpr std::uint8_t kAuthentication = 51;
  const std::size_t begin = here();
  const std::size_t size = fields.body.size() + 2;
  put(59, 1);
  put(fields.protocol == kAuthentication ? size / 4 - 2 : size / 8 - 1, 1);
  bytes(fields.body);
  layers_.push_back({.protocol = fields.protocol, .next_protocol_at = begin});
  return *this;
}

FrameBuilder& FrameBuilder::fragment(const FragmentHeader& fields) {
  const std::size_t begin = here();
  put(fields.next_header.value_or(59), 1);
  put(0, 1);
  put(fields.offset | (fields.more ? 1U : 0U), 2);
  put(fields.id, 4);
  layers_.push_back({.protocol = 44, .next_protocol_at = fields.next_header ? kNowhere : begin});
  return *this;
}

FrameBuilder& FrameBuilder::tcp(const Tcp& fields) {
  put(fields.source_port, 2);
  put(fields.destination_port, 2);
  put(fields.sequence, 4);
  put(fields.acknowledgement, 4);
  put((20 + fields.options.size()) / 4 << 4, 1);
  put(fields.flags, 1);
  put(fields.window, 2);
  put(fields.checksum, 2);
  put(0, 2);
  bytes(fields.options);
  layers_.push_back({.protocol = 6});
  return *this;
}

FrameBuilder& FrameBuilder::udp(const Udp& fields) {
  const std::size_t begin = here();
  put(fields.source_port, 2);
  put(fields.destination_port, 2);
  put(fields.length.value_or(0), 2);
  put(fields.checksum, 2);
  layers_.push_back(
      {.protocol = 17, .length_at = fields.length ? kNowhere : begin + 4, .length_from = begin});
  return *this;
}

FrameBuilder& FrameBuilder::bytes(const Bytes& bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

FrameBuilder& FrameBuilder::payload(std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    bytes_.push_back(static_cast<std::uint8_t>(i));
  }
  return *this;
}

FrameBuilder& FrameBuilder::trailer(const Bytes& bytes) {
  trailer_.insert(trailer_.end(), bytes.begin(), bytes.end());
  return *this;
}

void FrameBuilder::set16(Bytes& bytes, std::size_t at, std::size_t value) const {
  bytes[at] = static_cast<std::uint8_t>(value >> 8);
  bytes[at + 1] = static_cast<std::uint8_t>(value);
}

void FrameBuilder::set_checksum(Bytes& bytes, const Layer& layer) const {
  std::uint32_t sum = 0;
  for (std::size_t at = layer.checksum_from; at < layer.checksum_end; at += 2) {
    sum += std::uint32_t{bytes[at]} << 8 | bytes[at + 1];
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  set16(bytes, layer.checksum_from + 10, ~sum & 0xffff);
}

Bytes FrameBuilder::build() const {
  Bytes out = bytes_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (layer.next_type_at != kNowhere && i + 1 < layers_.size()) {
      set16(out, layer.next_type_at, layers_[i + 1].ether_type);
    }
    if (layer.next_protocol_at != kNowhere && i + 1 < layers_.size()) {
      out[layer.next_protocol_at] = layers_[i + 1].protocol;
    }
    if (layer.length_at != kNowhere) {
      set16(out, layer.length_at, out.size() - layer.length_from);
    }
    if (layer.checksum_end != 0) {
      set_checksum(out, layer);
    }
  }
  out.insert(out.end(), trailer_.begin(), trailer_.end());
  return out;
}

capture::packet::Frame whole(const Bytes& bytes, capture::packet::LinkType link) {
  return cut(bytes, bytes.size(), link);
}

capture::packet::Frame cut(const Bytes& bytes, std::size_t captured,
                           capture::packet::LinkType link) {
  return {.time_ns = 1'000'000'000,
          .data = bytes.data(),
          .captured_bytes = static_cast<std::uint32_t>(std::min(captured, bytes.size())),
          .frame_bytes = static_cast<std::uint32_t>(bytes.size()),
          .link_type = link};
}

}  // namespace chokepoint::fakes
