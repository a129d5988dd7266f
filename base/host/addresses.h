// Which addresses this host has, on which interface, and by which it reaches the rest of the world,
// a family each. Reads /proc/net below the given root, and asks the running kernel where the root
// is live.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/host/fact.h"
#include "base/net/address.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct InterfaceAddress {
  std::string interface;  // empty where only the address could be told
  net::Address address;
};

struct DefaultRoute {
  std::string interface;
  net::Family family = net::Family::Ipv4;
};

struct Addresses {
  std::optional<std::vector<InterfaceAddress>> addresses;
  std::optional<std::vector<DefaultRoute>> default_routes;
  std::vector<std::string> interfaces;  // all of them, with an address or without
};

Addresses read_addresses(const sys::Root& root);
void append_facts(const Addresses& addresses, Facts& facts);

// Could a peer on another host reach it: no loopback, link-local, unspecified or multicast address?
bool is_routable(const net::Address& address);
// Has it an address of this family that a peer could reach? False also where nothing is known.
bool is_reachable(const Addresses& addresses, net::Family family);
bool has_default_route(const Addresses& addresses, net::Family family);

}  // namespace chokepoint::host
