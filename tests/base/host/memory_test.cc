#include "base/host/memory.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Memory, ReadsSizesHugePagesAndNodes) {
  const auto tree = fakes::HostTree::from_text(R"(
/proc/meminfo <<END
MemTotal:       263921212 kB
MemAvailable:   250000000 kB
HugePages_Total:      16
HugePages_Free:        8
Hugepagesize:       2048 kB
END
/sys/devices/system/node/node0/cpulist = 0-15,32-47
/sys/devices/system/node/node0/meminfo = Node 0 MemTotal:       131960606 kB
/sys/devices/system/node/node1/cpulist = 16-31,48-63
/sys/devices/system/node/node1/meminfo = Node 1 MemTotal:       0 kB
/sys/devices/system/node/online = 0-1
)");
  const Memory memory = read_memory(tree.root());
  EXPECT_EQ(memory.total_bytes, 263921212LL * 1024);
  EXPECT_EQ(memory.available_bytes, 250000000LL * 1024);
  EXPECT_EQ(memory.huge_pages, 16);
  EXPECT_EQ(memory.free_huge_pages, 8);
  EXPECT_EQ(memory.huge_page_bytes, 2048 * 1024);
  ASSERT_EQ(memory.nodes.size(), 2);
  EXPECT_EQ(memory.nodes[0].cpus, "0-15,32-47");
  EXPECT_EQ(memory.nodes[0].memory_bytes, 131960606LL * 1024);
  EXPECT_EQ(memory.nodes[1].memory_bytes, 0);
}

TEST(Memory, WhatIsNotThereIsNotKnown) {
  const Memory memory = read_memory(fakes::HostTree::from_text("").root());
  EXPECT_EQ(memory.total_bytes, std::nullopt);
  EXPECT_EQ(memory.huge_pages, std::nullopt);
  EXPECT_TRUE(memory.nodes.empty());
}

}  // namespace
}  // namespace chokepoint::host
