#include "probe/path/families.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

using made_up::at;

// A name with an address of each family, both of which answer.
HostFacts both(Connection four, Connection six) {
  HostFacts host{.name = "voyager", .port = 5210, .in_order = {at("2001:db8::2"), at("192.0.2.2")}};
  host.ipv4.addresses = {at("192.0.2.2")};
  host.ipv6.addresses = {at("2001:db8::2")};
  for (FamilyFacts* facts : {&host.ipv4, &host.ipv6}) {
    facts->connection = facts == &host.ipv4 ? four : six;
    facts->source = at("192.0.2.1");
    facts->connect_ms = facts->answers() ? std::optional(0.3) : std::nullopt;
  }
  return host;
}

std::string finding(const HostFacts& host) { return dual_stack_finding(host).value_or("none"); }

HostFacts loopback_beside_a_real_address() {
  HostFacts host = both(Connection::Connected, Connection::Connected);
  host.in_order[1] = host.ipv4.addresses[0] = at("127.0.1.1");
  return host;
}

HostFacts slower_over_ipv6() {
  HostFacts host = both(Connection::Connected, Connection::Connected);
  host.ipv6.connect_ms = 18.0;
  return host;
}

TEST(DualStack, BothWorking) {
  EXPECT_EQ(finding(both(Connection::Connected, Connection::Connected)), "none");
  EXPECT_EQ(finding(both(Connection::Refused, Connection::Refused)), "none") << "both answer";
}

TEST(DualStack, PictureOfEachTrap) {
  fakes::Sentences sentences;
  HostFacts no_route = both(Connection::Connected, Connection::Unreachable);
  no_route.ipv6.source.reset();
  sentences.add("no route over IPv6", finding(no_route));
  sentences.add("IPv4 silent", finding(both(Connection::Silent, Connection::Connected)));
  sentences.add("refused over IPv4", finding(both(Connection::Refused, Connection::Connected)));
  HostFacts filtered = both(Connection::Connected, Connection::Silent);
  sentences.add("IPv6 silent", finding(filtered));
  filtered.ipv6.reached = true;
  sentences.add("IPv6 silent, but a trace reached it", finding(filtered));
  sentences.add("IPv4 is the host's own loopback", finding(loopback_beside_a_real_address()));
  sentences.add("IPv6 is slower", finding(slower_over_ipv6()));
  EXPECT_GOLDEN("sentences_dual_stack", sentences.text());
}

TEST(DualStack, WhatAFilterLetsThroughOverNoFamilyIsNoTrap) {
  HostFacts host = both(Connection::Silent, Connection::Silent);
  host.ipv4.reached = host.ipv6.reached = true;
  EXPECT_EQ(finding(host), "none");
}

TEST(DualStack, ANameWithOneFamilyIsNoTrap) {
  HostFacts host = both(Connection::Connected, Connection::Untried);
  host.ipv6.addresses.clear();
  EXPECT_EQ(finding(host), "none");
}

TEST(DualStack, WhereNeitherAnswersTheTrapIsAnotherOne) {
  EXPECT_EQ(finding(both(Connection::Silent, Connection::Unreachable)), "none");
}

TEST(DualStack, PathsThatAreAlikeSlowAreNoTrap) {
  HostFacts host = slower_over_ipv6();
  host.ipv6.rtt_ms = 0.4;
  EXPECT_EQ(finding(host), "none") << "the connection waited for a link address";
  host.ipv6.rtt_ms = 18.0;
  host.ipv4.connect_ms = 17.0;
  EXPECT_EQ(finding(host), "none");
}

}  // namespace
}  // namespace chokepoint::probe::path
