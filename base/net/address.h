// IP addresses and endpoints of both families, as people write them and as sockets take them. An
// IPv6 address keeps its scope (fe80::1%eth0): without it a link-local one cannot be reached.
// Values.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::net {

enum class Family { Ipv4, Ipv6 };

std::string_view name_of(Family family);  // "ipv4", "ipv6"
constexpr Family other(Family family) {
  return family == Family::Ipv4 ? Family::Ipv6 : Family::Ipv4;
}

class Address {
 public:
  // "10.0.0.2", "::1", "fe80::1%eth0", "[::1]". A scope is an interface's name or number.
  static Result<Address> parse(std::string_view text);
  static Address v4(const in_addr& address);
  static Address v6(const in6_addr& address, std::uint32_t scope);

  Family family() const { return family_; }
  std::uint32_t scope() const { return scope_; }
  std::string text() const;

  bool is_loopback() const;
  bool is_link_local() const;
  bool is_unspecified() const;
  bool is_multicast() const;
  // IPv4 seen through a dual-stack socket, ::ffff:10.0.0.2.
  bool is_v4_mapped() const;
  // The IPv4 address inside such a one; any other as it is.
  Address unmapped() const;
  // What is left of it with all bits behind the first `prefix` cleared; without a scope.
  Address network(int prefix) const;

  // In network order; IPv4 fills the first four.
  const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }

  bool operator==(const Address&) const = default;
  auto operator<=>(const Address&) const = default;

 private:
  Family family_ = Family::Ipv4;
  std::array<std::uint8_t, 16> bytes_{};
  std::uint32_t scope_ = 0;
};

struct Endpoint {
  Address address;
  std::uint16_t port = 0;

  static Result<Endpoint> from_socket(const sockaddr_storage& socket);
  // The length of what was filled in.
  socklen_t to_socket(sockaddr_storage& socket) const;
  std::string text() const;  // 10.0.0.2:5210, [fe80::1%eth0]:5210

  bool operator==(const Endpoint&) const = default;
  auto operator<=>(const Endpoint&) const = default;
};

// "host", "host:5210", "[::1]:5210", "::1": a name or an address, with or without a port.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port);

}  // namespace chokepoint::net
