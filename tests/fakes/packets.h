// Frames byte by byte, for the tests of whoever reads them: headers one after the other, from the
// link inwards, each with only the fields that matter to the test.
//
//   const Bytes frame = FrameBuilder().ethernet().ipv4({.source = "10.0.0.7"})
//                           .tcp({.sequence = 100, .options = timestamps(7,
//                           6)}).payload(1448).build();
//
// What a header says of the next one and of its length is filled in, unless a test sets it to lie.
// IPv4 headers get their checksum; TCP and UDP have the one that was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "capture/packet/frame.h"

namespace chokepoint::fakes {

using Bytes = std::vector<std::uint8_t>;

struct Ethernet {
  std::optional<std::uint16_t> type = {};
};

struct Vlan {
  std::uint16_t id = 1;
  std::uint16_t tag_type = 0x8100;
};

struct Ipv4 {
  const char* source = "10.0.0.1";
  const char* destination = "10.0.0.2";
  std::uint16_t id = 1;
  std::uint8_t type_of_service = 0;  // ECN in the low two bits
  std::uint8_t hop_limit = 64;
  std::uint16_t fragment_offset = 0;  // in bytes
  bool more_fragments = false;
  Bytes options = {};
  std::optional<std::uint8_t> protocol = {};
  std::optional<std::uint16_t> total_length = {};
};

struct Ipv6 {
  const char* source = "fd77::1";
  const char* destination = "fd77::2";
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 64;
  std::optional<std::uint8_t> next_header = {};
  std::optional<std::uint16_t> payload_length = {};
};

// `body` is what follows the first two bytes; 6, 14, 22 … long, for AH 10, 14, 18 …
struct Extension {
  std::uint8_t protocol = 0;  // its own: 0 hop-by-hop, 43 routing, 60 destination, 51 AH
  Bytes body = Bytes(6);
};

struct FragmentHeader {
  std::uint32_t id = 1;
  std::uint16_t offset = 0;  // in bytes
  bool more = false;
  std::optional<std::uint8_t> next_header = {};
};

struct Tcp {
  std::uint16_t source_port = 40'000;
  std::uint16_t destination_port = 5'201;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgement = 0;
  std::uint8_t flags = 0x10;  // packet::TcpFlag
  std::uint16_t window = 500;
  std::uint16_t checksum = 0;
  Bytes options = {};
};

struct Udp {
  std::uint16_t source_port = 40'000;
  std::uint16_t destination_port = 5'201;
  std::uint16_t checksum = 0;
  std::optional<std::uint16_t> length = {};
};

struct Geneve {
  std::uint32_t network = 1;
  Bytes options = {};  // a multiple of four
};

struct Gre {
  std::optional<std::uint16_t> checksum = {};
  std::optional<std::uint32_t> key = {};
  std::optional<std::uint32_t> sequence = {};
  std::optional<std::uint16_t> type = {};
};

// The base transport header of RoCEv2; extended headers, data and ICRC are bytes behind it.
struct Bth {
  std::uint8_t opcode = 0x04;
  std::uint8_t pad = 0;
  std::uint32_t queue_pair = 0x11;
  std::uint32_t sequence = 0;
  bool wants_ack = false;
  bool forward_congestion = false;
  bool backward_congestion = false;
};

class FrameBuilder {
 public:
  FrameBuilder& ethernet(const Ethernet& fields = {});
  FrameBuilder& vlan(const Vlan& fields = {});
  FrameBuilder& linux_cooked();
  FrameBuilder& linux_cooked2();
  FrameBuilder& mpls(std::uint32_t label, bool is_last = true);
  FrameBuilder& ipv4(const Ipv4& fields = {});
  FrameBuilder& ipv6(const Ipv6& fields = {});
  FrameBuilder& extension(const Extension& fields);
  FrameBuilder& fragment(const FragmentHeader& fields);
  FrameBuilder& tcp(const Tcp& fields = {});
  FrameBuilder& udp(const Udp& fields = {});
  FrameBuilder& vxlan(std::uint32_t network);
  FrameBuilder& geneve(const Geneve& fields = {});
  FrameBuilder& gre(const Gre& fields = {});
  FrameBuilder& bth(const Bth& fields = {});
  FrameBuilder& bytes(const Bytes& bytes);
  FrameBuilder& payload(std::size_t bytes);  // 0, 1, 2 …
  // Behind everything and part of no length: Ethernet's padding, a frame check sequence.
  FrameBuilder& trailer(const Bytes& bytes);

  Bytes build() const;

 private:
  static constexpr std::size_t kNowhere = SIZE_MAX;

  // Where the fields stand that are filled in at the end.
  struct Layer {
    std::uint16_t ether_type = 0;  // what the header before calls this one
    std::uint8_t protocol = 0;
    std::size_t next_type_at = kNowhere;
    std::size_t next_protocol_at = kNowhere;
    std::size_t length_at = kNowhere;
    std::size_t length_from = 0;
    std::size_t checksum_from = 0;
    std::size_t checksum_end = 0;
  };

  std::size_t here() const { return bytes_.size(); }
  void put(std::uint64_t value, std::size_t bytes);
  void put_address(int family, const char* text);
  void set16(Bytes& bytes, std::size_t at, std::size_t value) const;
  void set_checksum(Bytes& bytes, const Layer& layer) const;

  Bytes bytes_;
  Bytes trailer_;
  std::vector<Layer> layers_;
};

// TCP's options, padded with NOP as Linux does; join them by `+`.
Bytes timestamps(std::uint32_t value, std::uint32_t echo);
Bytes maximum_segment_size(std::uint16_t bytes);
Bytes window_scale(std::uint8_t shift);
Bytes sack_permitted();
Bytes selective_acknowledgement(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& blocks);
Bytes operator+(Bytes left, const Bytes& right);

// A frame captured whole. `bytes` must outlive it.
capture::packet::Frame whole(const Bytes& bytes,
                             capture::packet::LinkType link = capture::packet::LinkType::Ethernet);
// The same, of which only the first bytes were captured.
capture::packet::Frame cut(const Bytes& bytes, std::size_t captured,
                           capture::packet::LinkType link = capture::packet::LinkType::Ethernet);

}  // namespace chokepoint::fakes
