#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/path/families.h"
#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

using made_up::at;
using testing::HasSubstr;
using testing::Not;

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

TEST(DualStack, BothWorking) {
  EXPECT_EQ(finding(both(Connection::Connected, Connection::Connected)), "none");
  EXPECT_EQ(finding(both(Connection::Refused, Connection::Refused)), "none") << "both answer";
}

TEST(DualStack, OnlyIpv4Works) {
  HostFacts host = both(Connection::Connected, Connection::Unreachable);
  host.ipv6.source.reset();
  EXPECT_THAT(finding(host), HasSubstr("only IPv4 works (this host has no route to 2001:db8::2)"));
  EXPECT_THAT(finding(host), HasSubstr("programs try IPv6 first"));
  EXPECT_THAT(finding(host), HasSubstr("NCCL_SOCKET_FAMILY=AF_INET,"));
  EXPECT_THAT(finding(host), HasSubstr("'192.0.2.2 voyager'"));
}

TEST(DualStack, OnlyIpv6WorksAsInThePaper) {
  const std::string said = finding(both(Connection::Silent, Connection::Connected));
  EXPECT_THAT(said, HasSubstr("only IPv6 works (192.0.2.2 does not answer)"));
  EXPECT_THAT(said, HasSubstr("NCCL_SOCKET_FAMILY=AF_INET6"));
  EXPECT_THAT(said, HasSubstr("torch RPC"));
}

TEST(DualStack, ThePeerListensOnOneOfThem) {
  const std::string said = finding(both(Connection::Refused, Connection::Connected));
  EXPECT_THAT(said, HasSubstr("listens on IPv6 alone"));
  EXPECT_THAT(said, HasSubstr("a program that takes IPv4 fails"));
  EXPECT_THAT(said, HasSubstr("5210"));
}

TEST(DualStack, AFilterLetsOneOfThemThrough) {
  HostFacts host = both(Connection::Connected, Connection::Silent);
  EXPECT_THAT(finding(host), HasSubstr("only IPv4 works"));
  host.ipv6.reached = true;
  EXPECT_THAT(finding(host), HasSubstr("port 5210 is open over IPv4 alone (2001:db8::2 does not"));
  host.ipv4.connection = Connection::Silent;
  host.ipv4.reached = true;
  host.ipv4.connect_ms.reset();
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

TEST(DualStack, ALoopbackAddressBesideARealOne) {
  HostFacts host = both(Connection::Connected, Connection::Connected);
  host.in_order[1] = host.ipv4.addresses[0] = at("127.0.1.1");
  EXPECT_THAT(finding(host), HasSubstr("127.0.1.1"));
  EXPECT_THAT(finding(host), HasSubstr("/etc/hosts"));
}

TEST(DualStack, FamiliesThatGoUnlikeWays) {
  HostFacts host = both(Connection::Connected, Connection::Connected);
  host.ipv6.connect_ms = 18.0;
  EXPECT_THAT(finding(host), HasSubstr("unlike paths, 300 µs and 18.0 ms"));
  EXPECT_THAT(finding(host), HasSubstr("AF_INET,"));
  host.ipv6.rtt_ms = 0.4;
  EXPECT_EQ(finding(host), "none") << "the connection waited for a link address";
  host.ipv6.rtt_ms = 18.0;
  host.ipv4.connect_ms = 17.0;
  EXPECT_EQ(finding(host), "none");
}

}  // namespace
}  // namespace chokepoint::probe::path
