// Which packets the kernel hands over, as an expression of pcap-filter. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "capture/packet/packet.h"

namespace chokepoint::capture::run {

struct Host {
  packet::Address address = {};
  bool is_ipv6 = false;

  auto operator<=>(const Host&) const = default;
};

// All that may be a job's: before its peers are known, and where they are too many to be named.
inline constexpr std::string_view kAnyJob = "tcp or udp port 4791";

// Packets from or to one of these, and everybody's handshakes: who is connected to later is seen
// from the first packet on, and has its window's scale.
std::string filter_for(const std::vector<Host>& peers);

}  // namespace chokepoint::capture::run
