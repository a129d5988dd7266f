#include "base/net/socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <span>

#include "base/net/tcp_info.h"

namespace chokepoint::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

Deadline soon() { return Deadline::of(seconds(10)); }

Endpoint loopback(const char* address = "127.0.0.1", std::uint16_t port = 0) {
  return {Address::parse(address).value(), port};
}

struct Pair {
  sys::Descriptor client;
  sys::Descriptor server;
};

Pair connected(const char* address = "127.0.0.1", const SocketOptions& options = {}) {
  const sys::Descriptor listener = listen(loopback(address), 8, {}).value();
  Pair pair;
  pair.client = connect(local_endpoint(listener.get()).value(), options, soon()).value();
  EXPECT_TRUE(wait_for(listener.get(), POLLIN, soon(), "accept", ""));
  pair.server = std::move(*accept(listener.get()).value());
  return pair;
}

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(Socket, ConnectsInBothFamilies) {
  for (const char* address : {"127.0.0.1", "::1"}) {
    const Pair pair = connected(address);
    EXPECT_EQ(peer_endpoint(pair.client.get()).value(), local_endpoint(pair.server.get()).value());
  }
}

TEST(Socket, WholeMessagesArriveWhole) {
  const Pair pair = connected();
  ASSERT_TRUE(send_all(pair.client.get(), bytes("hello"), soon(), "peer"));
  std::array<std::byte, 5> into{};
  ASSERT_TRUE(receive_all(pair.server.get(), into, soon(), "peer"));
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(into.data()), into.size()), "hello");
}

TEST(Socket, ASilentPeerIsATimeoutAndNoHang) {
  const Pair pair = connected();
  std::array<std::byte, 5> into{};
  const auto got =
      receive_some(pair.server.get(), into, Deadline::of(milliseconds(10)), "10.0.0.2");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(describe(got.error()), HasSubstr("10.0.0.2"));
}

TEST(Socket, AnInterruptEndsEveryWait) {
  const Pair pair = connected();
  const sys::Descriptor interrupt(eventfd(1, EFD_CLOEXEC));
  std::array<std::byte, 5> into{};
  const auto got =
      receive_some(pair.server.get(), into, Deadline::of(seconds(60), interrupt.get()), "peer");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().kind, ErrorKind::Interrupted);
}

TEST(Socket, APeerThatClosesInTheMiddleIsAnError) {
  Pair pair = connected();
  ASSERT_TRUE(send_all(pair.client.get(), bytes("hel"), soon(), "peer"));
  pair.client.reset();
  std::array<std::byte, 5> into{};
  EXPECT_FALSE(receive_all(pair.server.get(), into, soon(), "peer"));
}

TEST(Socket, ARefusedPortSaysSo) {
  Endpoint nobody;
  {
    const sys::Descriptor listener = listen(loopback(), 1, {}).value();
    nobody = local_endpoint(listener.get()).value();
  }
  const auto fd = connect(nobody, {}, soon());
  ASSERT_FALSE(fd);
  EXPECT_EQ(fd.error().kind, ErrorKind::Refused);
}

TEST(Socket, OptionsReachTheKernel) {
  const Pair pair = connected("127.0.0.1", {.congestion = "reno", .mss = 1000, .dscp = 46});
  EXPECT_EQ(congestion_of(pair.client.get()), "reno");
  int mss = 0;
  socklen_t length = sizeof(mss);
  ASSERT_EQ(getsockopt(pair.client.get(), IPPROTO_TCP, TCP_MAXSEG, &mss, &length), 0);
  EXPECT_LE(mss, 1000);
  int traffic_class = 0;
  getsockopt(pair.client.get(), IPPROTO_IP, IP_TOS, &traffic_class, &length);
  EXPECT_EQ(traffic_class, 46 << 2);
}

TEST(Socket, AnOptionThatCannotBeIsNamedWithItsValue) {
  const auto fd = connect(loopback("127.0.0.1", 9), {.congestion = "nosuch"}, soon());
  ASSERT_FALSE(fd);
  EXPECT_THAT(describe(fd.error()), HasSubstr("congestion control nosuch: the kernel does not"));
  const auto other =
      connect(loopback("127.0.0.1", 9), {.source = Address::parse("198.51.100.1").value()}, soon());
  ASSERT_FALSE(other);
  EXPECT_THAT(describe(other.error()), HasSubstr("198.51.100.1"));
}

TEST(TcpInfo, KnowsALivingConnection) {
  const Pair pair = connected();
  const Result<TcpInfo> info = read_tcp_info(pair.client.get());
  ASSERT_TRUE(info);
  EXPECT_GT(info->mss_bytes, 0U);
  EXPECT_GT(info->congestion_window_bytes(), 0U);
  EXPECT_TRUE(info->chrono);
  EXPECT_GT(read_send_memory(pair.client.get()).value().limit_bytes, 0U);
}

TEST(TcpInfo, OfAConnectionThatWaitsForItsEndThereIsNothing) {
  const TcpInfo info = decode_tcp_info({});
  EXPECT_EQ(info.mss_bytes, 0U);
  EXPECT_FALSE(info.rtt_ms);
  EXPECT_FALSE(info.bytes_acknowledged);
}

TEST(TcpInfo, WhatAnOldKernelLeavesOutIsUnknown) {
  const std::array<std::byte, 104> old{};  // up to tcpi_total_retrans
  const TcpInfo info = decode_tcp_info(old);
  EXPECT_FALSE(info.chrono);
  EXPECT_FALSE(info.bytes_acknowledged);
  EXPECT_FALSE(info.min_rtt_ms);
  EXPECT_FALSE(info.rtt_ms) << "0 is no measured time";
  EXPECT_FALSE(info.bytes_sent);
  EXPECT_FALSE(info.delivered_segments);
  EXPECT_FALSE(info.delivery_rate_app_limited);
  EXPECT_FALSE(info.pacing_rate_bytes_per_s);
}

TEST(TcpInfo, WhatIsUnlimitedIsNoLimit) {
  tcp_info raw{};
  raw.tcpi_snd_ssthresh = 0x7fffffff;
  raw.tcpi_pacing_rate = ~std::uint64_t{0};
  raw.tcpi_delivery_rate_app_limited = 1;
  raw.tcpi_dsack_dups = 3;
  TcpInfo info = decode_tcp_info(std::as_bytes(std::span(&raw, 1)));
  EXPECT_FALSE(info.slow_start_threshold_segments);
  EXPECT_FALSE(info.pacing_rate_bytes_per_s);
  EXPECT_EQ(info.delivery_rate_app_limited, true);
  EXPECT_EQ(info.dsack_duplicates, 3U);
  raw.tcpi_snd_ssthresh = 7;
  raw.tcpi_pacing_rate = 1'000;
  info = decode_tcp_info(std::as_bytes(std::span(&raw, 1)));
  EXPECT_EQ(info.slow_start_threshold_segments, 7U);
  EXPECT_EQ(info.pacing_rate_bytes_per_s, 1'000U);
}

}  // namespace
}  // namespace chokepoint::net
