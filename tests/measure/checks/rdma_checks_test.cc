#include "measure/checks/rdma_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/checks/named.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::checks {
namespace {

Checks checks_of(const std::vector<host::RdmaDevice>& devices,
                 const host::Process& process = host::Process()) {
  Checks checks;
  check_rdma(devices, {}, process, checks);
  return checks;
}

std::vector<host::RdmaDevice> devices_of(const char* fixture) {
  return host::read_rdma(fakes::HostTree::from_fixture(fixture).root());
}

TEST(Rdma, NoDeviceIsOneInfo) {
  const Checks checks = checks_of({});
  ASSERT_EQ(checks.size(), 1);
  EXPECT_EQ(checks[0].status, Status::Info);
}

TEST(Rdma, AGoodGidIsNamedWithItsIndex) {
  const Checks checks = checks_of(devices_of("roce-good-gid"));
  EXPECT_EQ(worst(checks), Status::Info);
  EXPECT_EQ(named(checks, "rdma.port").status, Status::Pass);
  EXPECT_EQ(named(checks, "rdma.port").subject, "mlx5_0/1");
  EXPECT_THAT(named(checks, "rdma.gid").found, testing::StartsWith("index 3: "));
  EXPECT_EQ(named(checks, "rdma.gid").next_step, "export NCCL_IB_GID_INDEX=3");
  EXPECT_EQ(named(checks, "rdma.mtu").status, Status::Pass);
}

TEST(Rdma, OnlyLinkLocalGidsAreCritical) {
  const Checks checks = checks_of(devices_of("roce-link-local-gid"));
  EXPECT_EQ(named(checks, "rdma.gid").status, Status::Critical);
  EXPECT_EQ(named(checks, "rdma.gid").next_step, "ip address add ADDRESS/PREFIX dev eth0");
  EXPECT_EQ(named(checks, "rdma.mtu").status, Status::Info);
  EXPECT_THAT(named(checks, "rdma.mtu").found, testing::StartsWith("1024"));
}

TEST(Rdma, AnInterfaceThatNobodyKnowsHasNoMtu) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-good-gid");
  devices[0].ports[0].netdev_mtu_bytes.reset();
  devices[0].ports[0].active_mtu_bytes = 1024;
  EXPECT_EQ(named(checks_of(devices), "rdma.mtu").found, "1024");
}

TEST(Rdma, AGlobalIpv6GidServesWhereThereIsNoIpv4) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-link-local-gid");
  devices[0].ports[0].gids.push_back({4, *net::Address::parse("2001:db8::7"), "RoCE v2", "eth0"});
  ASSERT_NE(usable_gid(devices[0].ports[0]), nullptr);
  EXPECT_EQ(usable_gid(devices[0].ports[0])->index, 4);
}

TEST(Rdma, TypesThatCouldNotBeReadLeaveTheGidUnknown) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-good-gid");
  for (host::RdmaGid& gid : devices[0].ports[0].gids) {
    gid.type.reset();
  }
  EXPECT_EQ(named(checks_of(devices), "rdma.gid").status, Status::Unknown);
}

TEST(Rdma, RoceOfTheFirstVersionAloneIsAWarning) {
  const Check check = named(checks_of(devices_of("rdma-bnxt")), "rdma.gid");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_EQ(check.found, "RoCE v1 alone");
}

TEST(Rdma, APortWithoutAGidIsCritical) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-good-gid");
  devices[0].ports[0].gids.clear();
  EXPECT_EQ(named(checks_of(devices), "rdma.gid").status, Status::Critical);
  EXPECT_EQ(named(checks_of(devices), "rdma.gid").found, "no GID");
}

TEST(Rdma, ASmallMtuOnAJumboLinkIsAWarning) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-good-gid");
  devices[0].ports[0].active_mtu_bytes = 1024;
  const Check check = named(checks_of(devices), "rdma.mtu");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_EQ(check.found, "1024, though eth0's MTU is 9000");
  EXPECT_EQ(check.wanted, "4096");
}

TEST(Rdma, AnIndexChosenForNcclMustServe) {
  const auto chosen = [](const std::string& index) {
    host::Process process;
    process.environment.emplace();
    (*process.environment)["NCCL_IB_GID_INDEX"] = index;
    return named(checks_of(devices_of("roce-good-gid"), process), "rdma.gid-choice").status;
  };
  EXPECT_EQ(chosen("3"), Status::Pass);
  EXPECT_EQ(chosen("-1"), Status::Pass) << "NCCL chooses by itself";
  EXPECT_EQ(chosen("0"), Status::Critical);
  EXPECT_EQ(chosen("1"), Status::Critical);
  EXPECT_EQ(chosen("9"), Status::Critical);
}

TEST(Rdma, APortThatIsDownMattersWhereNoOtherIsUp) {
  std::vector<host::RdmaDevice> devices = devices_of("roce-good-gid");
  devices[0].ports[0].state = "DOWN";
  EXPECT_EQ(checks_of(devices).at(0).status, Status::Warning);
  EXPECT_EQ(checks_of(devices).size(), 1) << "its GIDs are not judged";
  devices.push_back(devices_of("roce-good-gid")[0]);
  EXPECT_EQ(checks_of(devices).at(0).status, Status::Info);
}

host::RdmaDevice infiniband(const std::string& state, const std::string& rate) {
  host::RdmaDevice device;
  device.name = "mlx5_1";
  device.ports.emplace_back();
  device.ports[0].state = state;
  device.ports[0].link_layer = "InfiniBand";
  device.ports[0].rate = rate;
  return device;
}

TEST(Rdma, InfinibandWithoutASubnetManagerIsCritical) {
  EXPECT_EQ(named(checks_of({infiniband("INIT", "100 Gb/sec (4X EDR)")}), "rdma.port").status,
            Status::Critical);
}

TEST(Rdma, InfinibandWithFewerLanesIsAWarning) {
  EXPECT_EQ(named(checks_of({infiniband("ACTIVE", "25 Gb/sec (1X EDR)")}), "rdma.width").status,
            Status::Warning);
  EXPECT_EQ(named(checks_of({infiniband("ACTIVE", "100 Gb/sec (4X EDR)")}), "rdma.width").status,
            Status::Pass);
}

using testing::HasSubstr;

struct Host {
  std::vector<host::RdmaDevice> devices;
  host::Network network;
};

Host host_of(const char* fixture) {
  const auto tree = fakes::HostTree::from_fixture(fixture);
  return {host::read_rdma(tree.root()), host::read_network(tree.root())};
}

Checks checked(const Host& host) {
  Checks checks;
  check_flow_control(host.devices[0], host.devices[0].ports[0], host.network, checks);
  return checks;
}

TEST(FlowControl, OfOnePriorityIsAsItShouldBe) {
  const Checks checks = checked(host_of("rdma-mlx5"));
  ASSERT_EQ(checks.size(), 1U);
  EXPECT_EQ(checks[0].status, Status::Pass);
  EXPECT_EQ(checks[0].found, "PFC of priority 3");
  EXPECT_EQ(checks[0].subject, "mlx5_0/1");
}

TEST(FlowControl, ThatIsOffIsAWarningWithTheCommand) {
  const Check check = checked(host_of("rdma-irdma")).at(0);
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.next_step, HasSubstr("dcb pfc set dev enp24s0 prio-pfc 3:on"));
}

TEST(FlowControl, OfAllTrafficIsWorthKnowing) {
  Host host = host_of("rdma-irdma");
  host.network.nics.at(0).settings.pause = net::Pause{.rx = true, .tx = true};
  EXPECT_EQ(checked(host).at(0).status, Status::Info);
}

TEST(FlowControl, ThatCannotBeReadIsUnknown) {
  EXPECT_EQ(checked(host_of("rdma-bnxt")).at(0).status, Status::Unknown);
}

TEST(FlowControl, OfSoftwareIsNotAskedFor) { EXPECT_TRUE(checked(host_of("rdma-rxe")).empty()); }

Check locked(const host::Process& process, bool has_rdma) {
  Checks checks;
  check_locked_memory(process, has_rdma, checks);
  return checks.at(0);
}

host::Process with_limit(std::int64_t bytes) {
  host::Process process;
  process.locked_memory_bytes = host::Limit{bytes, bytes};
  process.capabilities = 0;
  return process;
}

TEST(MemoryLock, ALimitMattersWithRdmaOnly) {
  EXPECT_EQ(locked(with_limit(8 << 20), true).status, Status::Warning);
  EXPECT_EQ(locked(with_limit(8 << 20), false).status, Status::Pass);
  EXPECT_EQ(locked(with_limit(host::kUnlimited), true).status, Status::Pass);
}

TEST(MemoryLock, ItsCapabilityLiftsTheLimit) {
  host::Process process = with_limit(8 << 20);
  process.capabilities = 1ULL << static_cast<int>(host::Capability::IpcLock);
  EXPECT_EQ(locked(process, true).status, Status::Pass);
}

TEST(MemoryLock, IsUnknownWhereItMattersAndWasNotRead) {
  EXPECT_EQ(locked(host::Process(), true).status, Status::Unknown);
  EXPECT_EQ(locked(host::Process(), false).status, Status::Info);
}

}  // namespace
}  // namespace chokepoint::checks
