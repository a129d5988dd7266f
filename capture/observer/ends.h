// Ends of flows: as text, and which of them belong to this host.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

std::string end_text(const packet::Address& address, bool is_ipv6,
                     std::uint16_t port);           // 10.0.0.1:80, [fd00::1]:80
std::string_view protocol_text(packet::Kind kind);  // "tcp", "udp", "roce"

// This host's addresses as packets contain them; empty if they cannot be read.
std::vector<packet::Address> own_addresses(const sys::Root& root);

}  // namespace chokepoint::capture::observer
