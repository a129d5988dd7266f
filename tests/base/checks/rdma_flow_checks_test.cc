#include "base/checks/rdma_flow_checks.h"

#include <gmock/gmock.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::checks {
namespace {

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

}  // namespace
}  // namespace chokepoint::checks
