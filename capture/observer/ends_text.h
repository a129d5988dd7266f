// Ends as people, documents and the record write them. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

std::string end_text(const packet::Address& address, bool is_ipv6,
                     std::uint16_t port);           // 10.0.0.1:80, [fd00::1]:80
std::string_view protocol_text(packet::Kind kind);  // "tcp", "udp", "roce"

}  // namespace chokepoint::capture::observer
