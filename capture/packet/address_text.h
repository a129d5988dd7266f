// A packet's addresses as text, for output and for filters. Allocates: not for every packet. Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

struct IpAddress {
  Address address{};
  bool is_ipv6 = false;

  bool operator==(const IpAddress&) const = default;
};

// "10.0.0.1", "fd77::1".
std::string text_of(const Address& address, bool is_ipv6);

// Without a scope, which packets do not have.
Result<IpAddress> parse_address(std::string_view text);

}  // namespace chokepoint::capture::packet
