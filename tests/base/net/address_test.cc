#include "base/net/address.h"

#include <gtest/gtest.h>

namespace chokepoint::net {
namespace {

Address address(std::string_view text) {
  const Result<Address> parsed = Address::parse(text);
  EXPECT_TRUE(parsed) << text;
  return parsed.value_or(Address{});
}

TEST(Address, ReadsAndWritesBothFamilies) {
  EXPECT_EQ(address("10.0.0.2").text(), "10.0.0.2");
  EXPECT_EQ(address("2001:DB8::0:1").text(), "2001:db8::1");
  EXPECT_EQ(address("[::1]").text(), "::1");
  EXPECT_EQ(address("10.0.0.2").family(), Family::Ipv4);
}

TEST(Address, ALinkLocalOneKeepsItsScope) {
  EXPECT_EQ(address("fe80::1%lo").text(), "fe80::1%lo");
  EXPECT_EQ(address("fe80::1%1").scope(), 1U);
  EXPECT_NE(address("fe80::1%lo"), address("fe80::1"));
  EXPECT_EQ(address("2001:db8::1%lo").scope(), 0U) << "says nothing there";
}

TEST(Address, WhatIsNoneIsAUsageError) {
  for (const std::string_view text :
       {"", "10.0.0", "10.0.0.256", "host", "::1::", "[10.0.0.2]", "1.2.3.4%lo", "fe80::1%"}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
  EXPECT_EQ(Address::parse("fe80::1%no-such-if").error().kind, ErrorKind::NotFound);
}

TEST(Address, KnowsItsKind) {
  EXPECT_TRUE(address("127.0.1.1").is_loopback());
  EXPECT_TRUE(address("::1").is_loopback());
  EXPECT_TRUE(address("::ffff:127.0.0.1").is_loopback());
  EXPECT_FALSE(address("128.0.0.1").is_loopback());
  EXPECT_TRUE(address("169.254.3.4").is_link_local());
  EXPECT_TRUE(address("fe80::2").is_link_local());
  EXPECT_TRUE(address("::").is_unspecified());
  EXPECT_TRUE(address("224.0.0.251").is_multicast());
  EXPECT_TRUE(address("ff02::1").is_multicast());
  EXPECT_EQ(address("::ffff:10.0.0.2").unmapped(), address("10.0.0.2"));
}

TEST(Endpoint, GoesThroughASocketAddressUnchanged) {
  for (const std::string_view text : {"10.0.0.2", "2001:db8::1", "fe80::1%lo"}) {
    const Endpoint endpoint{address(text), 5210};
    sockaddr_storage socket{};
    endpoint.to_socket(socket);
    EXPECT_EQ(Endpoint::from_socket(socket), endpoint) << text;
  }
  EXPECT_EQ((Endpoint{address("10.0.0.2"), 80}.text()), "10.0.0.2:80");
  EXPECT_EQ((Endpoint{address("fe80::1%lo"), 80}.text()), "[fe80::1%lo]:80");
  const sockaddr_storage nothing{};
  EXPECT_EQ(Endpoint::from_socket(nothing).error().kind, ErrorKind::Unsupported);
}

struct Typed {
  std::string_view text;
  std::string_view host;
  std::uint16_t port;
};

TEST(Address, ItsNetworkIsWhatThePrefixLeaves) {
  EXPECT_EQ(address("10.1.2.3").network(24), address("10.1.2.0"));
  EXPECT_EQ(address("10.1.2.3").network(9), address("10.0.0.0"));
  EXPECT_EQ(address("10.1.2.3").network(32), address("10.1.2.3"));
  EXPECT_EQ(address("10.1.2.3").network(0), address("0.0.0.0"));
  EXPECT_EQ(address("2001:db8:1:2::5").network(48), address("2001:db8:1::"));
  EXPECT_EQ(address("fe80::1%lo").network(64), address("fe80::"));
  // A prefix that is none leaves what a sound one at that end would.
  EXPECT_EQ(address("10.1.2.3").network(-1), address("0.0.0.0"));
  EXPECT_EQ(address("10.1.2.3").network(999), address("10.1.2.3"));
}

TEST(HostPort, AsPeopleTypeIt) {
  for (const auto& [text, host, port] :
       {Typed{"voyager", "voyager", 5210}, Typed{"voyager:80", "voyager", 80},
        Typed{"10.0.0.2:80", "10.0.0.2", 80}, Typed{"::1", "::1", 5210},
        Typed{"[::1]", "::1", 5210}, Typed{"[fe80::1%eth0]:80", "fe80::1%eth0", 80}}) {
    const Result<HostPort> parsed = parse_host_port(text, 5210);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->host, host);
    EXPECT_EQ(parsed->port, port);
  }
  for (const std::string_view text :
       {"", ":80", "[::1", "host:", "host:0", "host:99999", "[::1]80"}) {
    EXPECT_FALSE(parse_host_port(text, 5210)) << text;
  }
}

}  // namespace
}  // namespace chokepoint::net
