#include "probe/path/dual_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::path {
namespace {

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

// What a program meets that does as the resolver says.
std::string effect(const HostFacts& host, const FamilyFacts& bad) {
  const bool first = !host.in_order.empty() && host.in_order.front().family() == bad.family;
  return first ? fmt::format("programs try {} first", title_of(bad.family))
               : fmt::format("a program that takes {} fails", title_of(bad.family));
}

std::string only_one_works(const HostFacts& host, const FamilyFacts& good, const FamilyFacts& bad) {
  return fmt::format("{} resolves to IPv4 and IPv6, but only {} works ({}), and {}; mend {}, or {}",
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
  const std::string mend = bad.connection == Connection::Refused
                               ? "bind the peer to both (to '::' without IPV6_V6ONLY)"
                               : "open it for both";
  return fmt::format("{} answers over IPv4 and IPv6, but {}, and {}; {}, or {}", host.name, cause,
                     effect(host, bad), mend, remedy(host, good));
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

// A first connection also waits for link addresses to be resolved; a trace does so once only.
std::optional<double> quickest(const FamilyFacts& facts) {
  if (!facts.connect_ms || !facts.rtt_ms) {
    return facts.connect_ms ? facts.connect_ms : facts.rtt_ms;
  }
  return std::min(*facts.connect_ms, *facts.rtt_ms);
}

std::optional<std::string> unlike_paths(const HostFacts& host) {
  constexpr double kFactor = 1.5;
  constexpr double kLeastMs = 2.0;
  const std::optional<double> four = quickest(host.ipv4);
  const std::optional<double> six = quickest(host.ipv6);
  if (!four || !six || std::abs(*four - *six) < kLeastMs ||
      std::max(*four, *six) < kFactor * std::min(*four, *six)) {
    return std::nullopt;
  }
  const FamilyFacts& good = *four < *six ? host.ipv4 : host.ipv6;
  return fmt::format("IPv4 and IPv6 to {} take unlike paths, {:.1f} ms and {:.1f} ms; {}",
                     host.name, *four, *six, remedy(host, good));
}

}  // namespace

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
