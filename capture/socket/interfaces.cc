#include "capture/socket/interfaces.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/net/rtnetlink.h"

namespace chokepoint::capture::socket {
namespace {

constexpr const char* kLoopback = "lo";
constexpr std::size_t kIpv4Bytes = 4;

packet::Address address_of(const net::Address& address) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  if (address.family() == net::Family::Ipv4) {
    bytes = {};
    bytes[10] = bytes[11] = 0xff;
    std::ranges::copy_n(address.bytes().begin(), kIpv4Bytes, bytes.end() - kIpv4Bytes);
  }
  packet::Address words;
  std::memcpy(words.words.data(), bytes.data(), bytes.size());
  return words;
}

bool is_ipv4_loopback(const packet::Address& address) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), address.words.data(), bytes.size());
  const std::array<std::uint8_t, 13> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return std::equal(mapped.begin(), mapped.end(), bytes.begin());
}

void add_names(Interfaces& interfaces) {
  const std::unique_ptr<struct if_nameindex[], decltype(&if_freenameindex)> names(if_nameindex(),
                                                                                  if_freenameindex);
  for (std::size_t at = 0; names && names[at].if_index != 0; ++at) {
    interfaces.add(static_cast<int>(names[at].if_index), names[at].if_name);
  }
}

}  // namespace

std::string Interfaces::of(const packet::Ends& ends, std::uint32_t bound_to) const {
  if (is_own(ends.destination) && is_own(ends.source)) {
    return kLoopback;
  }
  if (bound_to != 0) {
    return name_of(static_cast<int>(bound_to));
  }
  const auto known = by_address_.find(ends.source);
  return known == by_address_.end() ? std::string() : name_of(known->second);
}

bool Interfaces::is_own(const packet::Address& address) const {
  return by_address_.contains(address) || is_ipv4_loopback(address);
}

std::string Interfaces::name_of(int index) const {
  const auto known = names_.find(index);
  return known == names_.end() ? std::string() : known->second;
}

Result<Interfaces> read_interfaces() {
  TRY(const net::AddressesByIndex dumped, net::dump_addresses());
  Interfaces interfaces;
  add_names(interfaces);
  for (const auto& [index, addresses] : dumped) {
    for (const net::InterfaceAddress& own : addresses) {
      interfaces.add(address_of(own.address), index);
    }
  }
  return interfaces;
}

}  // namespace chokepoint::capture::socket
