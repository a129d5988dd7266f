#include "probe/host/tcp_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

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

}  // namespace
}  // namespace chokepoint::probe
