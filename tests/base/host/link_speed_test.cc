#include "base/host/link_speed.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Links, TheFastestPhysicalOneCounts) {
  const auto tree = fakes::HostTree::from_text(R"(
/sys/class/net/eth0/type = 1
/sys/class/net/eth0/device/vendor = 0x8086
/sys/class/net/eth0/speed = 1000
/sys/class/net/eth0/mtu = 1500
/sys/class/net/eth1/type = 1
/sys/class/net/eth1/device/vendor = 0x15b3
/sys/class/net/eth1/speed = 25000
/sys/class/net/eth1/mtu = 9000
/sys/class/net/veth0/type = 1
/sys/class/net/veth0/speed = 10000000
/sys/class/net/lo/mtu = 65536
)");
  const Links links = links_of(read_network(tree.root()));
  EXPECT_EQ(links.fastest_mbps, 25'000);
  EXPECT_EQ(links.largest_mtu_bytes, 9000);
}

TEST(Links, ALinkThatIsDownTellsNoSpeed) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/class/net/eth0/type = 1\n/sys/class/net/eth0/device/vendor = 0x8086\n"
      "/sys/class/net/eth0/speed = -1\n");
  EXPECT_EQ(links_of(read_network(tree.root())).fastest_mbps, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
