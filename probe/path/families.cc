#include "probe/path/families.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include "base/math/path_difference.h"
#include "base/math/units.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/net/tcp_info.h"

namespace chokepoint::probe::path {
namespace {

Connection connection_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::Refused:
      return Connection::Refused;
    case ErrorKind::Timeout:
      return Connection::Silent;
    case ErrorKind::Unreachable:
      return Connection::Unreachable;
    default:
      return Connection::Failed;
  }
}

// The address from which this host would send to the target; an error without a route. Sends
// nothing.
Result<net::Address> source_towards(const net::Endpoint& target, const Origin& origin) {
  TRY(const sys::Descriptor socket,
      net::bind_udp(origin.local(target.address.family()), {.interface = origin.interface}));
  TRY(net::connect_udp(socket.get(), target));
  TRY(const net::Endpoint source, net::local_endpoint(socket.get()));
  return source.address;
}

void connect_to(const net::Endpoint& target, const FamilyOptions& options,
                const net::Deadline& deadline, FamilyFacts& facts) {
  const auto before = net::Deadline::Clock::now();
  const Result<sys::Descriptor> socket =
      net::connect(target, {.source = options.origin.source, .interface = options.origin.interface},
                   deadline.at_most(options.connect_wait));
  const std::chrono::duration<double, std::milli> took = net::Deadline::Clock::now() - before;
  facts.connection = socket ? Connection::Connected : connection_of(socket.error());
  facts.reason = socket ? "" : socket.error().reason;
  if (!facts.answers()) {
    return;
  }
  facts.connect_ms = took.count();
  if (socket) {
    const Result<net::TcpInfo> info = net::read_tcp_info(socket->get());
    facts.connect_ms = info && info->rtt_ms ? info->rtt_ms : facts.connect_ms;
  }
}

void examine_family(std::uint16_t port, const FamilyOptions& options, const net::Deadline& deadline,
                    FamilyFacts& facts) {
  if (!facts.resolves()) {
    return;
  }
  const net::Endpoint target{.address = facts.addresses.front(), .port = port};
  const Result<net::Address> source = source_towards(target, options.origin);
  if (!source) {
    facts.connection = Connection::Unreachable;
    facts.reason = source.error().reason;
    return;
  }
  facts.source = *source;
  connect_to(target, options, deadline, facts);
}

std::string_view title_of(net::Family family) {
  return family == net::Family::Ipv4 ? "IPv4" : "IPv6";
}

std::string why_not(const FamilyFacts& facts) {
  if (!facts.source) {
    return "this host has no route to " + facts.addresses.front().text();
  }
  const std::string address = facts.addresses.front().text();
  return facts.connection == Connection::Silent ? fmt::format("{} does not answer", address)
                                                : fmt::format("{}: {}", address, facts.reason);
}

std::string remedy(const HostFacts& host, const FamilyFacts& good) {
  return fmt::format(
      "make the job use {0} alone: NCCL_SOCKET_FAMILY={1}, MASTER_ADDR={2}, and a name that has "
      "that address only (a line '{2} {3}' in /etc/hosts) for Gloo and torch RPC, which take what "
      "the name gives",
      title_of(good.family), good.family == net::Family::Ipv4 ? "AF_INET" : "AF_INET6",
      good.addresses.front().text(), host.name);
}

// On a program that uses the addresses in the resolver's order.
std::string effect(const HostFacts& host, const FamilyFacts& bad) {
  const bool first = !host.in_order.empty() && host.in_order.front().family() == bad.family;
  return first ? fmt::format("programs try {} first", title_of(bad.family))
               : fmt::format("a program that takes {} fails", title_of(bad.family));
}

std::string only_one_works(const HostFacts& host, const FamilyFacts& good, const FamilyFacts& bad) {
  return fmt::format("{} resolves to IPv4 and IPv6, but only {} works ({}), and {}; fix {}, or {}",
                     host.name, title_of(good.family), why_not(bad), effect(host, bad),
                     title_of(bad.family), remedy(host, good));
}

std::string only_one_listens(const HostFacts& host, const FamilyFacts& good,
                             const FamilyFacts& bad) {
  const std::string cause =
      bad.connection == Connection::Refused
          ? fmt::format("the peer on port {} listens on {} alone", host.port, title_of(good.family))
          : fmt::format("port {} is open over {} alone ({})", host.port, title_of(good.family),
                        why_not(bad));
  const std::string fix = bad.connection == Connection::Refused
                              ? "bind the peer to both (to '::' without IPV6_V6ONLY)"
                              : "open it for both";
  return fmt::format("{} answers over IPv4 and IPv6, but {}, and {}; {}, or {}", host.name, cause,
                     effect(host, bad), fix, remedy(host, good));
}

std::optional<std::string> loopback_trap(const HostFacts& host) {
  const auto loopback = std::ranges::find_if(host.in_order, &net::Address::is_loopback);
  const auto other = std::ranges::find_if_not(host.in_order, &net::Address::is_loopback);
  if (loopback == host.in_order.end() || other == host.in_order.end()) {
    return std::nullopt;
  }
  return fmt::format(
      "{} resolves to {}, which every host takes for itself, beside {}; take {} out of that line "
      "of "
      "/etc/hosts",
      host.name, loopback->text(), other->text(), host.name);
}

// A first connection may wait for link addresses to be resolved, only the first probe of a trace
// does.
std::optional<double> quickest(const FamilyFacts& facts) {
  if (!facts.connect_ms || !facts.rtt_ms) {
    return facts.connect_ms ? facts.connect_ms : facts.rtt_ms;
  }
  return std::min(*facts.connect_ms, *facts.rtt_ms);
}

std::optional<std::string> unlike_paths(const HostFacts& host) {
  const std::optional<double> four = quickest(host.ipv4);
  const std::optional<double> six = quickest(host.ipv6);
  if (!four || !six || !math::are_unlike(*four, *six)) {
    return std::nullopt;
  }
  const FamilyFacts& good = *four < *six ? host.ipv4 : host.ipv6;
  return fmt::format("IPv4 and IPv6 to {} take unlike paths, {} and {}; {}", host.name,
                     math::format_ms(*four), math::format_ms(*six), remedy(host, good));
}

}  // namespace

bool FamilyFacts::answers() const {
  return reached || connects() || connection == Connection::Refused;
}

Result<HostFacts> examine(const std::string& host, std::uint16_t port, const FamilyOptions& options,
                          const net::Deadline& deadline) {
  HostFacts facts{.name = host, .only = options.only, .port = port};
  facts.is_address = net::Address::parse(host).has_value();
  TRY(const std::vector<net::Address> addresses, net::resolve_within(host, options.only, deadline));
  facts.in_order = addresses;
  for (const net::Address& address : addresses) {
    FamilyFacts& family = address.family() == net::Family::Ipv4 ? facts.ipv4 : facts.ipv6;
    family.addresses.push_back(address);
  }
  for (FamilyFacts* family : {&facts.ipv4, &facts.ipv6}) {
    examine_family(port, options, deadline, *family);
  }
  return facts;
}

std::optional<std::string> dual_stack_finding(const HostFacts& host) {
  const FamilyFacts& four = host.ipv4;
  const FamilyFacts& six = host.ipv6;
  if (!four.resolves() || !six.resolves()) {
    return std::nullopt;
  }
  if (const std::optional<std::string> trap = loopback_trap(host)) {
    return trap;
  }
  if (four.answers() != six.answers()) {
    return four.answers() ? only_one_works(host, four, six) : only_one_works(host, six, four);
  }
  if (!four.answers()) {
    return std::nullopt;
  }
  if (four.connects() != six.connects()) {
    return four.connects() ? only_one_listens(host, four, six) : only_one_listens(host, six, four);
  }
  return unlike_paths(host);
}

}  // namespace chokepoint::probe::path
