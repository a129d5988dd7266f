#include "capture/observer/ends.h"

#include <fmt/format.h>

#include "base/host/network.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::observer {

std::string end_text(const packet::Address& address, bool is_ipv6, std::uint16_t port) {
  const std::string host = packet::text_of(address, is_ipv6);
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::vector<packet::Address> own_addresses(const sys::Root& root) {
  std::vector<packet::Address> own;
  for (const auto& each :
       host::read_addresses(root).addresses.value_or(std::vector<host::InterfaceAddress>{})) {
    own.push_back(packet::as_in_packets(each.address));
  }
  return own;
}

}  // namespace chokepoint::capture::observer
