#include "capture/observer/ends_text.h"

#include <fmt/format.h>

#include "capture/packet/text.h"

namespace chokepoint::capture::observer {

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

}  // namespace chokepoint::capture::observer
