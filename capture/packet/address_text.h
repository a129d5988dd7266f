// Addresses as packets have them: written as text, and made from a net::Address. Any thread;
// text_of() allocates, so it is not for every packet.
#pragma once

#include <string>

#include "base/net/address.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::packet {

// "10.0.0.1", "fd77::1".
std::string text_of(const Address& address, bool is_ipv6);

// Without the scope, which packets do not have.
Address as_in_packets(const net::Address& address);

}  // namespace chokepoint::capture::packet
