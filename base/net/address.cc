#include "base/net/address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/sys/number.h"

namespace chokepoint::net {
namespace {

constexpr std::string_view kExamples = "write it like 10.0.0.2, 2001:db8::1 or fe80::1%eth0";

std::unexpected<Error> not_an_address(std::string_view text) {
  return fail(ErrorKind::Usage, "", text, "not an IP address", kExamples);
}

Result<std::uint32_t> parse_scope(std::string_view text) {
  std::uint32_t number = sys::parse_number<std::uint32_t>(text).value_or(0);
  number = number == 0 ? if_nametoindex(std::string(text).c_str()) : number;
  return number != 0
             ? Result<std::uint32_t>(number)
             : fail(ErrorKind::NotFound, "", text, "no such interface", "'ip link' lists them");
}

in6_addr as_v6(const std::array<std::uint8_t, 16>& bytes) {
  in6_addr address{};
  std::memcpy(&address, bytes.data(), bytes.size());
  return address;
}

}  // namespace

std::string_view name_of(Family family) { return family == Family::Ipv4 ? "ipv4" : "ipv6"; }

Address Address::v4(const in_addr& address) {
  Address result;
  std::memcpy(result.bytes_.data(), &address, sizeof(address));
  return result;
}

Address Address::v6(const in6_addr& address, std::uint32_t scope) {
  Address result;
  result.family_ = Family::Ipv6;
  std::memcpy(result.bytes_.data(), &address, sizeof(address));
  // A scope matters only where the address alone does not name a link.
  result.scope_ = IN6_IS_ADDR_LINKLOCAL(&address) || IN6_IS_ADDR_MC_LINKLOCAL(&address) ? scope : 0;
  return result;
}

Result<Address> Address::parse(std::string_view text) {
  std::string_view bare = text;
  if (bare.starts_with('[') && bare.ends_with(']')) {
    bare = bare.substr(1, bare.size() - 2);
  }
  in_addr four{};
  if (inet_pton(AF_INET, std::string(bare).c_str(), &four) == 1 && bare.size() == text.size()) {
    return v4(four);
  }
  const std::size_t percent = bare.find('%');
  in6_addr six{};
  if (inet_pton(AF_INET6, std::string(bare.substr(0, percent)).c_str(), &six) != 1) {
    return not_an_address(text);
  }
  if (percent == std::string_view::npos) {
    return v6(six, 0);
  }
  TRY(const std::uint32_t scope, parse_scope(bare.substr(percent + 1)));
  return v6(six, scope);
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(family_ == Family::Ipv4 ? AF_INET : AF_INET6, bytes_.data(), buffer.data(),
            buffer.size());
  std::string result = buffer.data();
  if (scope_ != 0) {
    std::array<char, IF_NAMESIZE> name{};
    const bool named = if_indextoname(scope_, name.data()) != nullptr;
    result += "%" + (named ? std::string(name.data()) : std::to_string(scope_));
  }
  return result;
}

bool Address::is_loopback() const {
  constexpr std::uint8_t kLoopbackNet = 127;
  if (family_ == Family::Ipv4) {
    return bytes_[0] == kLoopbackNet;
  }
  const in6_addr six = as_v6(bytes_);
  return IN6_IS_ADDR_LOOPBACK(&six) || (is_v4_mapped() && unmapped().is_loopback());
}

bool Address::is_link_local() const {
  constexpr std::uint8_t kFirst = 169;
  constexpr std::uint8_t kSecond = 254;
  if (family_ == Family::Ipv4) {
    return bytes_[0] == kFirst && bytes_[1] == kSecond;
  }
  const in6_addr six = as_v6(bytes_);
  return IN6_IS_ADDR_LINKLOCAL(&six);
}

bool Address::is_unspecified() const {
  return std::ranges::all_of(bytes_, [](std::uint8_t byte) { return byte == 0; });
}

bool Address::is_multicast() const {
  constexpr std::uint8_t kMulticastV4 = 0xE0;
  constexpr std::uint8_t kMulticastV6 = 0xFF;
  return family_ == Family::Ipv4 ? (bytes_[0] & 0xF0U) == kMulticastV4 : bytes_[0] == kMulticastV6;
}

bool Address::is_v4_mapped() const {
  const in6_addr six = as_v6(bytes_);
  return family_ == Family::Ipv6 && IN6_IS_ADDR_V4MAPPED(&six);
}

Address Address::unmapped() const {
  if (!is_v4_mapped()) {
    return *this;
  }
  constexpr std::size_t kPrefix = 12;
  in_addr four{};
  std::memcpy(&four, bytes_.data() + kPrefix, sizeof(four));
  return v4(four);
}

Address Address::network(int prefix) const {
  Address network = *this;
  network.scope_ = 0;
  for (int bit = std::max(prefix, 0); bit < static_cast<int>(bytes_.size()) * 8; ++bit) {
    auto& byte = network.bytes_.at(static_cast<std::size_t>(bit / 8));
    byte = static_cast<std::uint8_t>(byte & ~(0x80U >> (bit % 8)));
  }
  return network;
}

Result<Endpoint> Endpoint::from_socket(const sockaddr_storage& socket) {
  if (socket.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &socket, sizeof(four));
    return Endpoint{Address::v4(four.sin_addr), ntohs(four.sin_port)};
  }
  if (socket.ss_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &socket, sizeof(six));
    return Endpoint{Address::v6(six.sin6_addr, six.sin6_scope_id), ntohs(six.sin6_port)};
  }
  return fail(ErrorKind::Unsupported, "", "socket address",
              "family " + std::to_string(socket.ss_family) + " is neither IPv4 nor IPv6");
}

socklen_t Endpoint::to_socket(sockaddr_storage& socket) const {
  socket = {};
  if (address.family() == Family::Ipv4) {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    std::memcpy(&four.sin_addr, address.bytes().data(), sizeof(four.sin_addr));
    std::memcpy(&socket, &four, sizeof(four));
    return sizeof(four);
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_scope_id = address.scope();
  six.sin6_addr = as_v6(address.bytes());
  std::memcpy(&socket, &six, sizeof(six));
  return sizeof(six);
}

std::string Endpoint::text() const {
  const std::string number = std::to_string(port);
  return address.family() == Family::Ipv4 ? address.text() + ":" + number
                                          : "[" + address.text() + "]:" + number;
}

Result<HostPort> parse_host_port(std::string_view text, std::uint16_t default_port) {
  const auto bad = [&](std::string_view reason) {
    return fail(ErrorKind::Usage, "", text, reason, "write it like host, host:5210 or [::1]:5210");
  };
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) {
      return bad("'[' without ']'");
    }
    host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
  } else if (std::ranges::count(text, ':') == 1) {
    host = text.substr(0, text.find(':'));
    rest = text.substr(host.size());
  }
  if (host.empty()) {
    return bad("no host");
  }
  if (rest.empty()) {
    return HostPort{std::string(host), default_port};
  }
  const std::uint16_t port = sys::parse_number<std::uint16_t>(rest.substr(1)).value_or(0);
  if (rest[0] != ':' || port == 0) {
    return bad("not a port");
  }
  return HostPort{std::string(host), port};
}

}  // namespace chokepoint::net
