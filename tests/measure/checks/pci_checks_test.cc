#include "measure/checks/pci_checks.h"

#include <gmock/gmock.h>

#include "tests/base/checks/named.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::checks {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

host::RdmaDevice device_of(const char* fixture) {
  return host::read_rdma(fakes::HostTree::from_fixture(fixture).root()).at(0);
}

Checks checked(const host::RdmaDevice& device) {
  Checks checks;
  check_rdma_pci(device, checks);
  return checks;
}

TEST(RdmaPci, ASlotThatCarriesThePortIsEnough) {
  const Checks checks = checked(device_of("rdma-mlx5"));
  EXPECT_EQ(named(checks, "pci.bandwidth").status, Status::Pass);
  EXPECT_EQ(named(checks, "pci.bandwidth").subject, "mlx5_0");
  EXPECT_EQ(named(checks, "pci.link").status, Status::Info);
}

TEST(RdmaPci, ASlotOfHalfThePortsRateIsCritical) {
  const Check check = named(checked(device_of("rdma-irdma")), "pci.bandwidth");
  EXPECT_EQ(check.status, Status::Critical);
  EXPECT_THAT(check.found, HasSubstr("57.6 Gb/s over 8 GT/s x8"));
}

TEST(RdmaPci, APortThatIsDownAlarmsNobody) {
  host::RdmaDevice device = device_of("rdma-irdma");
  device.ports[0].state = "DOWN";
  EXPECT_EQ(worst(checked(device)), Status::Info);
}

TEST(RdmaPci, SoftwareHasNone) { EXPECT_THAT(checked(device_of("rdma-rxe")), IsEmpty()); }

TEST(RdmaPci, ACardThatIsANicTooIsJudgedOnce) {
  const auto tree = fakes::HostTree::from_fixture("rdma-mlx5");
  const host::Network network = host::read_network(tree.root());
  EXPECT_TRUE(is_judged_as_nic(device_of("rdma-mlx5"), network));
  EXPECT_FALSE(is_judged_as_nic(device_of("rdma-bnxt"), network));
}

}  // namespace
}  // namespace chokepoint::checks
