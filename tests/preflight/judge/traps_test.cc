// Every trap of base/checks/traps.def that preflight knows, in a cluster that fell into it.
#include "base/checks/traps.h"

#include <fmt/format.h>

#include <map>

#include "tests/preflight/judge/judged.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;
using testing::HasSubstr;
using testing::IsEmpty;

// The cable with this number joins two hosts: both its halves have a network of their own.
void plug(Cluster& cluster, int cable, HostIndex host, int port) {
  for (int half = 0; half < 2; ++half) {
    const std::string network = fmt::format("192.168.{}{}", cable + 1, half);
    InterfaceFacts interface;
    interface.name = fmt::format("en{}p1s0f{}np{}", half == 0 ? "" : "P2", port, port);
    interface.addresses = {fmt::format("{}.{}", network, host + 1)};
    interface.networks = {network + ".0/24"};
    interface.mtu = 9000;
    interface.is_port = interface.is_up = true;
    cluster.host_facts(host).interfaces.push_back(interface);
  }
}

// Three hosts that are reached by eth0, and cables of which one begins or ends at another port.
Cluster ring(bool is_miswired, bool has_rdma = true) {
  Cluster cluster({.hosts = 3});
  for (HostIndex host = 0; host < 3; ++host) {
    if (has_rdma) {
      cluster.host_facts(host).rdma = {{.device = "rocep1s0f0"}};
    }
    const bool swapped = is_miswired && host == 2;
    plug(cluster, static_cast<int>(host), host, swapped ? 1 : 0);
    plug(cluster, static_cast<int>((host + 2) % 3), host, swapped ? 0 : 1);
  }
  return cluster;
}

Cluster one_small_mtu() {
  Cluster cluster({.hosts = 4, .mtu = 9000});
  cluster.port(2).mtu = 1500;
  return cluster;
}

TEST(Traps, OfClustersAreSeenByTheirChecks) {
  const std::map<std::string_view, Cluster> clusters = {{"miswired-ring", ring(true)},
                                                        {"mtu-one-side", one_small_mtu()}};
  std::size_t tried = 0;
  for (const checks::Trap& trap : checks::kTraps) {
    if (trap.command != "preflight") {
      continue;
    }
    ++tried;
    ASSERT_TRUE(clusters.contains(trap.name)) << trap.name;
    const Judgement judgement = judge(clusters.at(trap.name).measured(), {}, nullptr);
    EXPECT_GE(only(judgement, std::string(trap.check)).check.status, Status::Warning) << trap.name;
  }
  EXPECT_EQ(tried, clusters.size());
}

TEST(Ring, NamesTheCablesThatJoinTheSamePort) {
  const Judgement judgement = judge(ring(true).measured(), {}, nullptr);
  const Finding finding = only(judgement, "link.ring");
  EXPECT_THAT(finding.check.found, HasSubstr("gpu1 enp1s0f0np0 to gpu2 enp1s0f0np0"));
  EXPECT_THAT(finding.check.found, HasSubstr("gpu0 enp1s0f1np1 to gpu2 enp1s0f1np1"));
  EXPECT_THAT(finding.check.found, testing::Not(HasSubstr("gpu0 enp1s0f0np0")));
  EXPECT_THAT(finding.check.next_step, HasSubstr("NCCL_IB_SUBNET_AWARE_ROUTING=1"));
  EXPECT_EQ(troubles_of(judgement).size(), 1U);
}

TEST(Ring, IsWellWhereEachCableJoinsAFirstAndASecondPort) {
  const Judgement judgement = judge(ring(false).measured(), {}, nullptr);
  EXPECT_EQ(only(judgement, "link.ring").check.status, Status::Pass);
  EXPECT_THAT(troubles_of(judgement), IsEmpty());
}

TEST(Ring, IsNoFaultWithoutRdma) {
  EXPECT_EQ(only(judge(ring(true, false).measured(), {}, nullptr), "link.ring").check.status,
            Status::Info);
}

TEST(Ring, IsNoneWhereACableIsMissingOrAFourthHostIsThere) {
  Cluster open = ring(true);
  open.host_facts(1).interfaces.resize(3);
  Cluster four({.hosts = 4});
  for (const Cluster* cluster : {&open, &four}) {
    EXPECT_EQ(only(judge(cluster->measured(), {}, nullptr), "link.ring").check.id, "");
  }
}

}  // namespace
}  // namespace chokepoint::preflight
