// Ends of flows: as text, and which of them belong to this host.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"
#include "base/sys/root.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

std::string end_text(const packet::Address& address, bool is_ipv6,
                     std::uint16_t port);  // 10.0.0.1:80, [fd00::1]:80

// This host's addresses as packets contain them; empty if they cannot be read.
std::vector<packet::Address> own_addresses(const sys::Root& root);

}  // namespace chokepoint::capture::observer

// Protocols: of those whose packets are of flows.
template <>
struct chokepoint::EnumNames<chokepoint::capture::packet::Kind> {
  using enum capture::packet::Kind;
  static constexpr std::string_view kWhat = "tcp, udp or roce";
  static constexpr auto kNames =
      std::to_array<EnumName<capture::packet::Kind>>({{Tcp, "tcp"}, {Udp, "udp"}, {Roce, "roce"}});
};
