#include "base/host/rdma.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Rdma, ReadsDevicesPortsAndGids) {
  const auto devices = read_rdma(fakes::HostTree::from_fixture("roce-good-gid").root());
  ASSERT_EQ(devices.size(), 1);
  EXPECT_EQ(devices[0].name, "mlx5_0");
  EXPECT_EQ(devices[0].firmware, "16.35.2000");
  EXPECT_EQ(devices[0].pci_address, "0000:3b:00.0");
  EXPECT_EQ(devices[0].numa_node, 0);
  ASSERT_EQ(devices[0].ports.size(), 1);
  const RdmaPort& port = devices[0].ports[0];
  EXPECT_TRUE(is_active(port));
  EXPECT_TRUE(is_ethernet(port));
  EXPECT_EQ(port.physical, "LinkUp");
  EXPECT_EQ(port.netdev, "eth0");
  EXPECT_EQ(port.netdev_mtu_bytes, 9000);
  ASSERT_EQ(port.gids.size(), 4) << "the empty one is none";
  EXPECT_EQ(port.gids[3].index, 3);
  EXPECT_EQ(port.gids[3].address.unmapped().text(), "198.51.100.7");
  EXPECT_EQ(port.gids[3].type, "RoCE v2");
}

TEST(Rdma, AHostWithoutDevicesHasNone) {
  EXPECT_TRUE(read_rdma(fakes::HostTree::from_text("/sys/class/infiniband/\n").root()).empty());
}

TEST(Rdma, WhatCannotBeReadIsNotKnown) {
  const auto devices = read_rdma(
      fakes::HostTree::from_text("/sys/class/infiniband/rxe0/ports/1/gids/0 = fe80::1\n").root());
  ASSERT_EQ(devices.size(), 1);
  EXPECT_FALSE(devices[0].pci_address);
  EXPECT_FALSE(devices[0].ports.at(0).state);
  EXPECT_FALSE(devices[0].ports.at(0).gids.at(0).type);
}

TEST(Rdma, TheLargestMtuThatFitsWithItsHeaders) {
  EXPECT_EQ(roce_mtu_bytes(9000), 4096);
  EXPECT_EQ(roce_mtu_bytes(4192), 4096);
  EXPECT_EQ(roce_mtu_bytes(4191), 2048);
  EXPECT_EQ(roce_mtu_bytes(1500), 1024);
  EXPECT_EQ(roce_mtu_bytes(100), 0);
}

}  // namespace
}  // namespace chokepoint::host
