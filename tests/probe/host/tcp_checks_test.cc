#include "probe/host/tcp_checks.h"

#include <gtest/gtest.h>

#include <algorithm>

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

constexpr host::Links k1G{.fastest_mbps = 1'000, .largest_mtu_bytes = 1500};
constexpr host::Links k100G{.fastest_mbps = 100'000, .largest_mtu_bytes = 9000};

Checks with(const std::string& name, const std::string& value, const host::Links& links) {
  Values values = healthy;
  values[name] = value;
  Checks checks;
  check_tcp(host::Sysctls(values), links, checks);
  return checks;
}

Check named(const Checks& checks, const std::string& id) {
  const auto found = std::ranges::find(checks, id, &Check::id);
  EXPECT_NE(found, checks.end()) << id;
  return found == checks.end() ? Check() : *found;
}

TEST(Tcp, AHealthyHostPassesEverything) {
  Checks checks;
  check_tcp(host::Sysctls(healthy), k100G, checks);
  EXPECT_EQ(worst(checks), Status::Pass);
  EXPECT_EQ(checks.size(), 10);
}

TEST(Tcp, ADistributionsDefaultsAt1GAreNoWarning) {
  const auto tree = fakes::HostTree::from_fixture("wan-small-buffers");
  Checks checks;
  check_tcp(host::read_sysctls(tree.root()), k1G, checks);
  EXPECT_EQ(worst(checks), Status::Info);
}

TEST(Tcp, NoWindowScalingIsCritical) {
  const Check check = named(with("net.ipv4.tcp_window_scaling", "0", k1G), "tcp.window-scaling");
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_EQ(check.next_step, "sysctl -w net.ipv4.tcp_window_scaling=1");
}

TEST(Tcp, SwitchesThatAreOffAreWarnings) {
  EXPECT_EQ(named(with("net.ipv4.tcp_sack", "0", k1G), "tcp.sack").status, Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_timestamps", "0", k1G), "tcp.timestamps").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_timestamps", "2", k1G), "tcp.timestamps").status,
            Status::Pass);
  EXPECT_EQ(named(with("net.ipv4.tcp_moderate_rcvbuf", "0", k1G), "tcp.receive-autotuning").status,
            Status::Warning);
}

TEST(Tcp, WhatIsMatterOfTasteIsInfo) {
  EXPECT_EQ(
      named(with("net.ipv4.tcp_slow_start_after_idle", "1", k100G), "tcp.idle-restart").status,
      Status::Info);
  EXPECT_EQ(named(with("net.ipv4.tcp_no_metrics_save", "0", k100G), "tcp.metrics").status,
            Status::Info);
}

TEST(Tcp, CongestionControl) {
  const auto status = [](const std::string& name) {
    return named(with("net.ipv4.tcp_congestion_control", name, k100G), "tcp.congestion").status;
  };
  EXPECT_EQ(status("cubic"), Status::Pass);
  EXPECT_EQ(status("bbr"), Status::Pass);
  EXPECT_EQ(status("htcp"), Status::Pass);
  EXPECT_EQ(status("dctcp"), Status::Info);
  EXPECT_EQ(status("reno"), Status::Warning);
  EXPECT_EQ(status("lp"), Status::Warning);
}

TEST(Tcp, TheQueueMattersOnFastLinks) {
  EXPECT_EQ(named(with("net.core.default_qdisc", "pfifo_fast", k100G), "tcp.qdisc").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.core.default_qdisc", "pfifo_fast", k1G), "tcp.qdisc").status,
            Status::Info);
  EXPECT_EQ(named(with("net.core.default_qdisc", "fq_codel", k100G), "tcp.qdisc").status,
            Status::Pass);
}

TEST(Tcp, MtuProbingIsWantedWithJumboFramesOnly) {
  EXPECT_EQ(named(with("net.ipv4.tcp_mtu_probing", "0", k100G), "tcp.mtu-probing").status,
            Status::Warning);
  EXPECT_EQ(named(with("net.ipv4.tcp_mtu_probing", "0", k1G), "tcp.mtu-probing").status,
            Status::Pass);
}

TEST(Tcp, TheBacklogIsJudgedAt100GOnly) {
  EXPECT_EQ(named(with("net.core.netdev_max_backlog", "1000", k100G), "tcp.backlog").status,
            Status::Info);
  const Checks slow = with("net.core.netdev_max_backlog", "1000", k1G);
  EXPECT_EQ(std::ranges::find(slow, "tcp.backlog", &Check::id), slow.end());
}

TEST(Tcp, WhatCouldNotBeReadIsUnknown) {
  Checks checks;
  check_tcp({}, k100G, checks);
  EXPECT_EQ(checks.size(), 9);
  for (const Check& check : checks) {
    EXPECT_EQ(check.status, Status::Unknown) << check.id;
  }
}

}  // namespace
}  // namespace chokepoint::probe
