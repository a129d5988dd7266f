#include "rdma/devices/listing.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/fakes/host_tree.h"
#include "tests/rdma/fakes/fabric.h"

namespace chokepoint::rdma::devices {
namespace {

fakes::FakeDevice small_mtu() {
  fakes::FakeDevice device = fakes::fake_device("mlx5_0");
  device.port.active_mtu_bytes = 1024;
  return device;
}

TEST(Listing, TheMtuInForceIsTheDevicesOwn) {
  fakes::FakeFabric fabric({small_mtu()});
  const auto library = fabric.library();
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const Listing listing = read_listing(host.root(), "", library.get());
  EXPECT_EQ(listing.devices.at(0).ports.at(0).active_mtu_bytes, 1024);
  const auto mtu = std::ranges::find(listing.checks, "rdma.mtu", &checks::Check::id);
  ASSERT_NE(mtu, listing.checks.end());
  EXPECT_EQ(mtu->status, checks::Status::Warning);
}

TEST(Listing, ADeviceThatCannotBeOpenedLeavesItUnknown) {
  fakes::FakeFabric fabric({fakes::fake_device("other")});
  const auto library = fabric.library();
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const Listing listing = read_listing(host.root(), "", library.get());
  EXPECT_EQ(listing.devices.at(0).ports.at(0).active_mtu_bytes, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::rdma::devices
