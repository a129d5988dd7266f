#include "capture/observer/own_addresses.h"

#include <algorithm>
#include <cstring>

#include "base/host/network.h"

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

std::vector<packet::Address> own_addresses(const sys::Root& root) {
  std::vector<packet::Address> own;
  for (const auto& each :
       host::read_addresses(root).addresses.value_or(std::vector<host::InterfaceAddress>{})) {
    own.push_back(as_in_packets(each.address));
  }
  return own;
}

}  // namespace chokepoint::capture::observer
