#include "base/host/addresses.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/host/fact_list.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kRoutes4 = "/proc/net/route";
constexpr std::string_view kRoutes6 = "/proc/net/ipv6_route";
constexpr std::string_view kAddresses6 = "/proc/net/if_inet6";
constexpr std::string_view kTrie = "/proc/net/fib_trie";
constexpr std::string_view kInterfaces = "/sys/class/net";
constexpr unsigned kRouteUp = 1;
constexpr unsigned kRouteReject = 0x200;

std::optional<net::Address> address_of(const sockaddr* address) {
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    return net::Address::v4(in.sin_addr);
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, address, sizeof in);
    return net::Address::v6(in.sin6_addr, in.sin6_scope_id);
  }
  return std::nullopt;
}

std::optional<std::vector<InterfaceAddress>> ask_kernel() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (const std::optional<net::Address> ip = address_of(entry->ifa_addr)) {
      addresses.push_back({entry->ifa_name, *ip});
    }
  }
  return addresses;
}

std::optional<net::Address> address_of_hex(std::string_view hex) {
  in6_addr address{};
  if (hex.size() != 2 * sizeof address.s6_addr) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < sizeof address.s6_addr; ++i) {
    const std::optional<std::int64_t> byte = number_of(hex.substr(2 * i, 2), 16);
    if (!byte) {
      return std::nullopt;
    }
    address.s6_addr[i] = static_cast<std::uint8_t>(*byte);
  }
  return net::Address::v6(address, 0);
}

// "fe80000000000000… 04 40 20 80     eth0"
void append_if_inet6(const std::string& text, std::vector<InterfaceAddress>& addresses) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 6) {
      continue;
    }
    if (const std::optional<net::Address> ip = address_of_hex(words[0])) {
      addresses.push_back({words[5], *ip});
    }
  }
}

// "|-- 192.0.2.2" followed by "/32 host LOCAL": an address of this host, whichever its interface.
void append_fib_trie(const std::string& text, std::vector<InterfaceAddress>& addresses) {
  std::optional<net::Address> last;
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 2 && words[0] == "|--") {
      const Result<net::Address> address = net::Address::parse(words[1]);
      last = address ? std::optional(*address) : std::nullopt;
    } else if (last && words.size() >= 3 && words[0] == "/32" && words[2] == "LOCAL" &&
               std::ranges::find(addresses, *last, &InterfaceAddress::address) == addresses.end()) {
      addresses.push_back({"", *last});
    }
  }
}

std::optional<std::vector<InterfaceAddress>> read_files(const sys::Root& root) {
  const Result<std::string> trie = root.read(kTrie);
  const Result<std::string> inet6 = root.read(kAddresses6);
  if (!trie && !inet6) {
    return std::nullopt;
  }
  std::vector<InterfaceAddress> addresses;
  append_fib_trie(trie.value_or(""), addresses);
  append_if_inet6(inet6.value_or(""), addresses);
  return addresses;
}

bool is_usable(std::string_view flags) {
  const auto bits = static_cast<unsigned>(number_of(flags, 16).value_or(0));
  return (bits & kRouteUp) != 0 && (bits & kRouteReject) == 0;
}

// Iface Destination Gateway Flags RefCnt Use Metric Mask …
void append_routes4(const std::string& text, std::vector<DefaultRoute>& routes) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 8 && words[1] == "00000000" && words[7] == "00000000" &&
        is_usable(words[3])) {
      routes.push_back({words[0], net::Family::Ipv4});
    }
  }
}

// destination length source length next-hop metric references use flags interface
void append_routes6(const std::string& text, std::vector<DefaultRoute>& routes) {
  for (const std::string& line : lines_of(text)) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 10 && words[0] == std::string(32, '0') && words[1] == "00" &&
        words[9] != "lo" && is_usable(words[8])) {
      routes.push_back({words[9], net::Family::Ipv6});
    }
  }
}

std::optional<std::vector<DefaultRoute>> read_routes(const sys::Root& root) {
  const Result<std::string> four = root.read(kRoutes4);
  const Result<std::string> six = root.read(kRoutes6);
  if (!four && !six) {
    return std::nullopt;
  }
  std::vector<DefaultRoute> routes;
  append_routes4(four.value_or(""), routes);
  append_routes6(six.value_or(""), routes);
  return routes;
}

}  // namespace

bool is_routable(const net::Address& address) {
  return !address.is_loopback() && !address.is_link_local() && !address.is_unspecified() &&
         !address.is_multicast();
}

Addresses read_addresses(const sys::Root& root) {
  return {.addresses = root.is_live() ? ask_kernel() : read_files(root),
          .default_routes = read_routes(root),
          .interfaces = root.list(kInterfaces)};
}

void append_facts(const Addresses& addresses, Facts& facts) {
  for (const InterfaceAddress& one :
       addresses.addresses.value_or(std::vector<InterfaceAddress>())) {
    FactList(facts, "address", one.interface)
        .add_text("address", one.address.text(), "getifaddrs, /proc/net");
  }
  for (const DefaultRoute& route : addresses.default_routes.value_or(std::vector<DefaultRoute>())) {
    const bool four = route.family == net::Family::Ipv4;
    FactList(facts, "route", route.interface)
        .add_text("default", std::string(net::name_of(route.family)), four ? kRoutes4 : kRoutes6);
  }
}

bool is_reachable(const Addresses& addresses, net::Family family) {
  return addresses.addresses &&
         std::ranges::any_of(*addresses.addresses, [&](const InterfaceAddress& one) {
           return one.address.family() == family && is_routable(one.address);
         });
}

bool has_default_route(const Addresses& addresses, net::Family family) {
  return addresses.default_routes &&
         std::ranges::find(*addresses.default_routes, family, &DefaultRoute::family) !=
             addresses.default_routes->end();
}

}  // namespace chokepoint::host
