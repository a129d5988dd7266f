#include "capture/packet/address_text.h"

#include <netinet/in.h>

#include <array>
#include <cstring>

namespace chokepoint::capture::packet {

std::string text_of(const Address& address, bool is_ipv6) {
  in6_addr bytes{};
  static_assert(sizeof bytes == sizeof address.words);
  std::memcpy(&bytes, address.words.data(), sizeof bytes);
  const net::Address named = net::Address::v6(bytes, 0);
  return (is_ipv6 ? named : named.unmapped()).text();
}

Address as_in_packets(const net::Address& address) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  if (address.family() == net::Family::Ipv4) {
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, bytes[0], bytes[1], bytes[2], bytes[3]};
  }
  Address words;
  std::memcpy(words.words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace chokepoint::capture::packet
