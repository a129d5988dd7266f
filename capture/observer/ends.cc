#include "capture/observer/ends.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/host/network.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::observer {
namespace {

packet::Address as_in_packets(const net::Address& address) {
  constexpr std::size_t kIpv4At = 12;
  std::array<std::uint8_t, 16> bytes = address.bytes();
  if (address.family() == net::Family::Ipv4) {
    bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::copy_n(address.bytes().begin(), 4, bytes.begin() + kIpv4At);
  }
  packet::Address words;
  std::memcpy(words.words.data(), bytes.data(), bytes.size());
  return words;
}

}  // namespace

std::string end_text(const packet::Address& address, bool is_ipv6, std::uint16_t port) {
  const std::string host = packet::text_of(address, is_ipv6);
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string_view protocol_text(packet::Kind kind) {
  switch (kind) {
    case packet::Kind::Tcp:
      return "tcp";
    case packet::Kind::Roce:
      return "roce";
    default:
      return "udp";
  }
}

std::vector<packet::Address> own_addresses(const sys::Root& root) {
  std::vector<packet::Address> own;
  for (const auto& each :
       host::read_addresses(root).addresses.value_or(std::vector<host::InterfaceAddress>{})) {
    own.push_back(as_in_packets(each.address));
  }
  return own;
}

}  // namespace chokepoint::capture::observer
