// The other end of a test, as the probes' documents name it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json/fields.h"
#include "base/net/address.h"

namespace chokepoint {

namespace documents {

struct Peer {
  std::string host = {};
  std::string address = {};
  net::Family family = net::Family::Ipv4;
  std::uint16_t port = 0;
  std::string name = {};
  std::string software = {};

  const std::string& called() const { return name.empty() ? host : name; }
};

}  // namespace documents

template <>
struct EnumNames<net::Family> {
  using enum net::Family;
  static constexpr std::string_view kWhat = "ipv4 or ipv6";
  static constexpr auto kNames =
      std::to_array<EnumName<net::Family>>({{Ipv4, "ipv4"}, {Ipv6, "ipv6"}});
};

template <>
struct Fields<documents::Peer> {
  using P = documents::Peer;
  static constexpr FieldList kList{
      field("host", &P::host, "host as it was given"),
      field("address", &P::address, "IP address of the host"),
      field("family", &P::family, "family of the address"),
      field("port", &P::port, "port of the server"),
      field("name", &P::name,
            "name that the host reports; null for another program than chokepoint")
          .null_if_empty(),
      field("software", &P::software,
            "the program at the peer, with its version where it is known")};
};

}  // namespace chokepoint
