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

std::optional<std::int64_t> room_of(const std::string& text) {
  const auto tree = fakes::HostTree::from_text(text);
  return memory_room(tree.root());
}

constexpr std::int64_t kMebi = 1 << 20;

TEST(MemoryRoom, IsWhatTheHostHasWhereNoCgroupSaysLess) {
  EXPECT_EQ(room_of("/proc/meminfo = MemAvailable: 8192 kB\n"), 8 * kMebi);
  EXPECT_EQ(room_of("/proc/meminfo = MemAvailable: 8192 kB\n"
                    "/proc/self/cgroup = 0::/\n"
                    "/sys/fs/cgroup/memory.max = max\n"
                    "/sys/fs/cgroup/memory.current = 4096\n"),
            8 * kMebi);
  EXPECT_FALSE(room_of("/proc/empty/\n"));
}

TEST(MemoryRoom, IsWhatTheTightestCgroupAboveLeaves) {
  EXPECT_EQ(room_of("/proc/meminfo = MemAvailable: 81920 kB\n"
                    "/proc/self/cgroup = 0::/pod/container\n"
                    "/sys/fs/cgroup/pod/memory.max = 10485760\n"
                    "/sys/fs/cgroup/pod/memory.current = 8388608\n"
                    "/sys/fs/cgroup/pod/container/memory.max = max\n"
                    "/sys/fs/cgroup/pod/container/memory.current = 4096\n"),
            2 * kMebi);
}

TEST(MemoryRoom, FilesThatTheKernelKeepsTakeNone) {
  EXPECT_EQ(room_of("/proc/self/cgroup = 0::/\n"
                    "/sys/fs/cgroup/memory.max = 10485760\n"
                    "/sys/fs/cgroup/memory.current = 8388608\n"
                    "/sys/fs/cgroup/memory.stat = inactive_file 6291456\n"),
            8 * kMebi);
}

TEST(MemoryRoom, OfVersionOneThatAContainerSeesAtTheTop) {
  EXPECT_EQ(room_of("/proc/meminfo = MemAvailable: 81920 kB\n"
                    "/proc/self/cgroup = 4:cpuset,memory:/docker/0123\n"
                    "/sys/fs/cgroup/memory/memory.limit_in_bytes = 10485760\n"
                    "/sys/fs/cgroup/memory/memory.usage_in_bytes = 1048576\n"),
            9 * kMebi);
}

TEST(MemoryRoom, IsNoneWhereAllIsTakenAndLinesThatAreNoneAreLeftOut) {
  EXPECT_EQ(room_of("/proc/self/cgroup = 0::\n"
                    "/sys/fs/cgroup/memory.max = 4096\n"
                    "/sys/fs/cgroup/memory.current = 8192\n"),
            0);
  EXPECT_FALSE(room_of("/proc/self/cgroup = nonsense:\n"));
}

TEST(MemoryRoom, OfANodeIsWhatIsFreeThereAndFiles) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/devices/system/node/node1/meminfo = Node 1 MemFree: 1024 kB\n");
  tree.write("/sys/devices/system/node/node0/meminfo",
             "Node 0 MemTotal:       65536 kB\n"
             "Node 0 MemFree:        1024 kB\n"
             "Node 0 Active(anon):   40960 kB\n"
             "Node 0 Active(file):   2048 kB\n"
             "Node 0 Inactive(file): 1024 kB\n");
  EXPECT_EQ(memory_room_of_node(tree.root(), 0), 4 * kMebi);
  EXPECT_EQ(memory_room_of_node(tree.root(), 1), kMebi);
  EXPECT_FALSE(memory_room_of_node(tree.root(), 2));
}

}  // namespace
}  // namespace chokepoint::host
