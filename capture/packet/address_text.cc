#include "capture/packet/address_text.h"

#include <netinet/in.h>

#include <cstring>

#include "base/net/address.h"

namespace chokepoint::capture::packet {

std::string text_of(const Address& address, bool is_ipv6) {
  in6_addr bytes{};
  static_assert(sizeof bytes == sizeof address.words);
  std::memcpy(&bytes, address.words.data(), sizeof bytes);
  const net::Address named = net::Address::v6(bytes, 0);
  return (is_ipv6 ? named : named.unmapped()).text();
}

Result<IpAddress> parse_address(std::string_view text) {
  TRY(const net::Address named, net::Address::parse(text));
  IpAddress parsed;
  parsed.is_ipv6 = named.family() == net::Family::Ipv6;
  std::array<std::uint8_t, 16> bytes = named.bytes();
  if (!parsed.is_ipv6) {
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, bytes[0], bytes[1], bytes[2], bytes[3]};
  }
  std::memcpy(parsed.address.words.data(), bytes.data(), bytes.size());
  return parsed;
}

}  // namespace chokepoint::capture::packet
