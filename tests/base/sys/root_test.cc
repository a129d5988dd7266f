#include "base/sys/root.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::sys {
namespace {

using fakes::HostTree;

TEST(Root, OnlySlashIsLive) {
  EXPECT_TRUE(Root().is_live());
  EXPECT_TRUE(Root("/usr/..").is_live());
  EXPECT_FALSE(Root("/usr").is_live());
}

TEST(Root, ReadsBelowItsFolder) {
  const HostTree tree = HostTree::from_text(
      "/sys/class/net/eth0/mtu = 9000\n"
      "/sys/class/net/eth0/device -> ../../../devices/pci0\n"
      "/sys/devices/pci0/vendor = 0x8086\n");
  const Root root = tree.root();
  EXPECT_EQ(root.number("/sys/class/net/eth0/mtu"), 9000);
  EXPECT_EQ(root.number("/sys/class/net/eth0/device/vendor"), 0x8086);
  EXPECT_EQ(root.resolve("/sys/class/net/eth0/device"), "/sys/devices/pci0");
  EXPECT_EQ(root.list("/sys/class/net/eth0"), (std::vector<std::string>{"device", "mtu"}));
}

TEST(Root, WhatIsMissingIsNothing) {
  const HostTree tree = HostTree::from_text("/etc/empty =  \n/etc/words = twelve\n");
  const Root root = tree.root();
  EXPECT_EQ(root.text("/etc/empty"), std::nullopt);
  EXPECT_EQ(root.text("/etc/none"), std::nullopt);
  EXPECT_EQ(root.number("/etc/words"), std::nullopt);
  EXPECT_TRUE(root.list("/nowhere").empty());
  EXPECT_EQ(root.resolve("/nowhere"), std::nullopt);
  EXPECT_EQ(root.read("/etc/none").error().kind, ErrorKind::NotFound);
}

TEST(Root, ALinkThatLeavesTheRootLeadsNowhere) {
  const HostTree tree = HostTree::from_text("/etc/out -> /usr/bin\n");
  EXPECT_EQ(tree.root().resolve("/etc/out"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::sys
