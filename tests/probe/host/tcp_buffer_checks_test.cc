#include "probe/host/tcp_buffer_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host/network.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

constexpr double k1G = 1'000;
constexpr double k10G = 10'000;
constexpr double k100G = 100'000;
constexpr std::int64_t kMebibyte = 1 << 20;

host::Kernel kernel(const std::string& release) {
  host::Kernel result;
  result.release = release;
  return result;
}

host::Sysctls buffers(std::int64_t most) {
  const std::string three = "4096 131072 " + std::to_string(most);
  return host::Sysctls(
      host::Sysctls::Values{{"net.ipv4.tcp_rmem", three}, {"net.ipv4.tcp_wmem", three}});
}

Check receive(std::int64_t most, std::optional<double> fastest) {
  Checks checks;
  check_tcp_buffers(kernel("6.1.0"), buffers(most), fastest, checks);
  EXPECT_EQ(checks.at(0).id, "tcp.receive-buffer");
  return checks.at(0);
}

TEST(TcpWindow, IsAShareOfTheBufferByTcpAdvWinScaleBefore66) {
  const auto share = [](const char* scale) {
    return receive_rule(kernel("6.1.0"),
                        host::Sysctls(host::Sysctls::Values{{"net.ipv4.tcp_adv_win_scale", scale}}))
        .share;
  };
  EXPECT_DOUBLE_EQ(share("1"), 0.5);
  EXPECT_DOUBLE_EQ(share("2"), 0.75);
  EXPECT_DOUBLE_EQ(share("-2"), 0.25);
  EXPECT_DOUBLE_EQ(receive_rule(kernel("6.1.0"), {}).share, 0.5);
}

TEST(TcpWindow, IsAboutHalfOfTheBufferFrom66On) {
  const WindowRule rule = receive_rule(
      kernel("6.6.0"), host::Sysctls(host::Sysctls::Values{{"net.ipv4.tcp_adv_win_scale", "2"}}));
  EXPECT_DOUBLE_EQ(rule.share, 0.5);
  EXPECT_THAT(rule.text, testing::HasSubstr("6.6"));
}

TEST(TcpWindow, OneWindowARoundTripIsTheRate) {
  EXPECT_DOUBLE_EQ(flow_mbps(125'000, 0.1), k10G);
  EXPECT_DOUBLE_EQ(flow_mbps(187'500'000, 15), k100G);
}

TEST(TcpBuffers, TheDefaultsOfADistributionHold100GBackOnAWidePath) {
  const auto tree = fakes::HostTree::from_fixture("wan-small-buffers");
  Checks checks;
  check_tcp_buffers(host::read_kernel(tree.root()), host::read_sysctls(tree.root()),
                    host::links_of(host::read_network(tree.root())).fastest_mbps, checks);
  ASSERT_EQ(checks.size(), 3);
  EXPECT_EQ(checks[0].id, "tcp.receive-buffer");
  EXPECT_EQ(checks[0].status, Status::Warning);
  EXPECT_EQ(checks[0].found,
            "6.29 MB; one flow at most 251.66 Gb/s at 0.1 ms, 1.68 Gb/s at 15 ms, 314.57 Mb/s at "
            "80 ms");
  EXPECT_EQ(checks[0].next_step,
            "sysctl -w net.core.rmem_max=536870912 net.ipv4.tcp_rmem='4096 131072 268435456'");
  EXPECT_EQ(checks[1].id, "tcp.send-buffer");
  EXPECT_EQ(checks[1].status, Status::Warning);
  EXPECT_EQ(checks[1].next_step,
            "sysctl -w net.core.wmem_max=536870912 net.ipv4.tcp_wmem='4096 16384 268435456'");
  EXPECT_EQ(checks[2].id, "tcp.socket-buffer");
  EXPECT_EQ(checks[2].status, Status::Info);
}

TEST(TcpBuffers, WhatIsRecommendedForTheLinkPassesThoughMoreWouldCarryMore) {
  EXPECT_EQ(receive(256 * kMebibyte, k100G).status, Status::Pass);
  EXPECT_EQ(receive(128 * kMebibyte, k10G).status, Status::Pass);
  EXPECT_EQ(receive(128 * kMebibyte, k100G).status, Status::Warning);
}

TEST(TcpBuffers, A1GHostWithDefaultsIsNotNaggedWith100GRules) {
  const Check check = receive(6 * kMebibyte, k1G);
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_EQ(check.wanted, "33.55 MB");
  EXPECT_EQ(receive(32 * kMebibyte, k1G).status, Status::Pass);
}

TEST(TcpBuffers, TooSmallForTheLocalNetworkIsAWarningAtAnySpeed) {
  EXPECT_EQ(receive(16L * 1024, k1G).status, Status::Warning);
}

TEST(TcpBuffers, WithoutAKnownLinkNothingIsAskedFor) {
  const Check check = receive(6 * kMebibyte, std::nullopt);
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_TRUE(check.wanted.empty());
  EXPECT_FALSE(check.found.empty());
}

TEST(TcpBuffers, NotReadIsUnknown) {
  Checks checks;
  check_tcp_buffers({}, {}, k10G, checks);
  ASSERT_EQ(checks.size(), 2);
  EXPECT_EQ(checks[0].status, Status::Unknown);
  EXPECT_EQ(checks[1].status, Status::Unknown);
}

}  // namespace
}  // namespace chokepoint::probe
