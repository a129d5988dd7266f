#include "probe/tcp/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe::tcp {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Placement, StreamsStayOnTheNodeOfTheirNic) {
  const auto host = fakes::HostTree::from_text(
      "/sys/class/net/eth0/device/numa_node = 1\n"
      "/sys/devices/system/node/node0/cpulist = 0-1\n"
      "/sys/devices/system/node/node1/cpulist = 2-3\n");
  EXPECT_THAT(cpus_near_interface("eth0", host.root()), ElementsAre(2, 3));
  EXPECT_THAT(cpus_near_interface("lo", host.root()), IsEmpty());
}

TEST(Placement, OnOneNodeTheSchedulerKnowsBetter) {
  const auto host = fakes::HostTree::from_text(
      "/sys/class/net/eth0/device/numa_node = 0\n"
      "/sys/devices/system/node/node0/cpulist = 0-3\n");
  EXPECT_THAT(cpus_near_interface("eth0", host.root()), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::probe::tcp
