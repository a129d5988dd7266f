#include "probe/host/tcp_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/host/network.h"
#include "base/math/tcp_rate.h"
#include "tests/base/checks/named.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

using Values = std::map<std::string, std::string>;

const Values healthy = {
    {"net.ipv4.tcp_window_scaling", "1"},
    {"net.ipv4.tcp_sack", "1"},
    {"net.ipv4.tcp_timestamps", "1"},
    {"net.ipv4.tcp_moderate_rcvbuf", "1"},
    {"net.ipv4.tcp_slow_start_after_idle", "0"},
    {"net.ipv4.tcp_no_metrics_save", "1"},
    {"net.ipv4.tcp_congestion_control", "cubic"},
    {"net.ipv4.tcp_mtu_probing", "1"},
    {"net.core.default_qdisc", "fq"},
    {"net.core.netdev_max_backlog", "250000"},
};

constexpr host::Links kLinksOf1G{.fastest_mbps = 1'000, .largest_mtu_bytes = 1500};
constexpr host::Links kLinksOf100G{.fastest_mbps = 100'000, .largest_mtu_bytes = 9000};

Checks with(const std::string& name, const std::string& value, const host::Links& links) {
  Values values = healthy;
  values[name] = value;
  Checks checks;
  check_tcp(host::Sysctls(values), links, checks);
  return checks;
}

TEST(Tcp, AHealthyHostPassesEverything) {
  Checks checks;
  check_tcp(host::Sysctls(healthy), kLinksOf100G, checks);
  EXPECT_EQ(worst(checks), Status::Pass);
  EXPECT_EQ(checks.size(), 10);
}

TEST(Tcp, ADistributionsDefaultsAt1GAreNoWarning) {
  const auto tree = fakes::HostTree::from_fixture("wan-small-buffers");
  Checks checks;
  check_tcp(host::read_sysctls(tree.root()), kLinksOf1G, checks);
  EXPECT_EQ(worst(checks), Status::Info);
}

TEST(Tcp, NoWindowScalingIsCritical) {
  const Check check =
      named(with("net.ipv4.tcp_window_scaling", "0", kLinksOf1G), "tcp.window-scaling");
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_EQ(check.next_step, "sysctl -w net.ipv4.tcp_window_scaling=1");
}

TEST(Tcp, SwitchesThatAreOffAreWarnings) {
  EXPECT_EQ(named(with("net.ipv4.tcp_sack", "0", kLinksOf1G), "tcp.sack").status, Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_timestamps", "0", kLinksOf1G), "tcp.timestamps").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_timestamps", "2", kLinksOf1G), "tcp.timestamps").status,
            Status::Pass);
  EXPECT_EQ(
      named(with("net.ipv4.tcp_moderate_rcvbuf", "0", kLinksOf1G), "tcp.receive-autotuning").status,
      Status::Warning);
}

TEST(Tcp, WhatIsMatterOfTasteIsInfo) {
  EXPECT_EQ(named(with("net.ipv4.tcp_slow_start_after_idle", "1", kLinksOf100G), "tcp.idle-restart")
                .status,
            Status::Info);
  EXPECT_EQ(named(with("net.ipv4.tcp_no_metrics_save", "0", kLinksOf100G), "tcp.metrics").status,
            Status::Info);
}

TEST(Tcp, CongestionControl) {
  const auto status = [](const std::string& name) {
    return named(with("net.ipv4.tcp_congestion_control", name, kLinksOf100G), "tcp.congestion")
        .status;
  };
  EXPECT_EQ(status("cubic"), Status::Pass);
  EXPECT_EQ(status("bbr"), Status::Pass);
  EXPECT_EQ(status("htcp"), Status::Pass);
  EXPECT_EQ(status("dctcp"), Status::Info);
  EXPECT_EQ(status("reno"), Status::Warning);
  EXPECT_EQ(status("lp"), Status::Warning);
}

TEST(Tcp, TheQueueMattersOnFastLinks) {
  EXPECT_EQ(named(with("net.core.default_qdisc", "pfifo_fast", kLinksOf100G), "tcp.qdisc").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.core.default_qdisc", "pfifo_fast", kLinksOf1G), "tcp.qdisc").status,
            Status::Info);
  EXPECT_EQ(named(with("net.core.default_qdisc", "fq_codel", kLinksOf100G), "tcp.qdisc").status,
            Status::Pass);
}

TEST(Tcp, MtuProbingIsWantedWithJumboFramesOnly) {
  EXPECT_EQ(named(with("net.ipv4.tcp_mtu_probing", "0", kLinksOf100G), "tcp.mtu-probing").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_mtu_probing", "0", kLinksOf1G), "tcp.mtu-probing").status,
            Status::Pass);
}

TEST(Tcp, TheBacklogIsJudgedAt100GOnly) {
  EXPECT_EQ(named(with("net.core.netdev_max_backlog", "1000", kLinksOf100G), "tcp.backlog").status,
            Status::Info);
  const Checks slow = with("net.core.netdev_max_backlog", "1000", kLinksOf1G);
  EXPECT_EQ(std::ranges::find(slow, "tcp.backlog", &Check::id), slow.end());
}

TEST(Tcp, WhatCouldNotBeReadIsUnknown) {
  Checks checks;
  check_tcp({}, kLinksOf100G, checks);
  EXPECT_EQ(checks.size(), 9);
  for (const Check& check : checks) {
    EXPECT_EQ(check.status, Status::Unknown) << check.id;
  }
}

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
  EXPECT_DOUBLE_EQ(math::window_mbps(125'000, 0.1), k10G);
  EXPECT_DOUBLE_EQ(math::window_mbps(187'500'000, 15), k100G);
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
            "6 MiB; one flow at most 252 Gb/s at 100 µs, 1.68 Gb/s at 15 ms, 315 Mb/s at "
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
  EXPECT_EQ(check.wanted, "32 MiB");
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
