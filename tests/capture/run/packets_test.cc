#include "capture/run/packets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "capture/packet/address_text.h"

namespace chokepoint::capture::run {
namespace {

using testing::EndsWith;
using testing::StartsWith;

Host host(const std::string& text) {
  const net::Address address = net::Address::parse(text).value();
  return {.address = packet::as_in_packets(address),
          .is_ipv6 = address.family() == net::Family::Ipv6};
}

TEST(PeersFilter, WithoutPeersAnythingMayBeTheJobs) {
  EXPECT_EQ(filter_for({}), "tcp or udp port 4791");
}

TEST(PeersFilter, PeersAreNamedWhateverTheirFamily) {
  EXPECT_THAT(filter_for({host("10.0.0.2")}),
              EndsWith(" or ((tcp or udp port 4791) and (host 10.0.0.2))"));
  EXPECT_THAT(filter_for({host("10.0.0.2"), host("fd00::2")}),
              EndsWith("and (host 10.0.0.2 or host fd00::2))"));
}

TEST(PeersFilter, HandshakesOfEverybodyPass) {
  EXPECT_THAT(filter_for({host("10.0.0.2")}),
              StartsWith("tcp[tcpflags] & tcp-syn != 0 or (ip6[6] == 6 and ip6[53] & 2 != 0) or"));
}

TEST(PeersFilter, TooManyPeersAreNotNamed) {
  std::vector<Host> many;
  for (int i = 0; i < 65; ++i) {
    many.push_back(host(fmt::format("10.0.1.{}", i)));
  }
  EXPECT_EQ(filter_for(many), kAnyJob);
}

}  // namespace
}  // namespace chokepoint::capture::run
