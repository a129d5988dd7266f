#include "capture/run/packets.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <pcap/pcap.h>

#include <algorithm>
#include <memory>

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

// An Ethernet frame of IPv4 and TCP from 10.0.0.1, with options of twelve bytes.
std::vector<std::uint8_t> tcp_frame(const std::string& to, std::string_view payload) {
  std::vector<std::uint8_t> frame(14 + 20 + 32);
  frame[12] = 0x08;
  frame[14] = 0x45;
  frame[17] = static_cast<std::uint8_t>(52 + payload.size());
  frame[23] = 6;
  const auto bytes = net::Address::parse(to).value().bytes();
  std::ranges::copy(net::Address::parse("10.0.0.1").value().bytes(), frame.begin() + 26);
  std::ranges::copy(bytes, frame.begin() + 30);
  frame[46] = 0x80;
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

bool passes(const std::string& filter, const std::vector<std::uint8_t>& frame) {
  const std::unique_ptr<pcap_t, decltype(&pcap_close)> handle(pcap_open_dead(DLT_EN10MB, 65'535),
                                                              pcap_close);
  bpf_program program{};
  EXPECT_EQ(pcap_compile(handle.get(), &program, filter.c_str(), 1, PCAP_NETMASK_UNKNOWN), 0)
      << pcap_geterr(handle.get());
  const pcap_pkthdr header{.ts = {},
                           .caplen = static_cast<bpf_u_int32>(frame.size()),
                           .len = static_cast<bpf_u_int32>(frame.size())};
  const bool does = pcap_offline_filter(&program, &header, frame.data()) != 0;
  pcap_freecode(&program);
  return does;
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

// What a job asks a server first is seen before its connection is known to be the job's.
TEST(PeersFilter, FirstWordsToAnybodyPass) {
  const std::string filter = filter_for({host("10.0.0.2")});
  EXPECT_TRUE(passes(filter, tcp_frame("10.0.0.9", "PUT /checkpoint HTTP/1.1")));
  EXPECT_TRUE(passes(filter, tcp_frame("10.0.0.9", {"\x16\x03\x01\x02", 4})));
  EXPECT_FALSE(passes(filter, tcp_frame("10.0.0.9", "what comes later of it")));
  EXPECT_TRUE(passes(filter, tcp_frame("10.0.0.2", "what comes later of it")));
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
