#include "base/host/mounts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kMountInfo =
    "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "30 22 0:26 / /dev/shm rw,nosuid - tmpfs tmpfs rw\n"
    "41 22 0:44 / /data rw,relatime shared:9 - nfs4 store:/export rw,vers=4.2,hard\n"
    "42 41 8:17 /sub /data/my\\040sets ro,relatime - xfs /dev/sdb1 rw\n"
    "43 22 0:50 / /data rw - fuse.sshfs me@store:/x rw\n";

TEST(Mounts, AreTheKernelsLines) {
  const std::vector<Mount> mounts = mounts_in(kMountInfo);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[0].device, "259:2");
  EXPECT_FALSE(mounts[0].is_remote());
  EXPECT_TRUE(mounts[1].is_in_memory());
  EXPECT_EQ(mounts[2].source, "store:/export");
  EXPECT_TRUE(mounts[2].is_remote());
  EXPECT_EQ(mounts[3].point, "/data/my sets");
  EXPECT_TRUE(mounts[3].is_read_only);
}

TEST(Mounts, AreThoseThatAPathLiesOn) {
  const std::vector<Mount> mounts = mounts_in(kMountInfo);
  const auto type_of = [&](std::string_view path) { return mount_of(mounts, path)->type; };
  EXPECT_EQ(type_of("/home/me"), "ext4");
  EXPECT_EQ(type_of("/data"), "fuse.sshfs") << "the later one hides the other";
  EXPECT_EQ(type_of("/data/my sets/a"), "xfs");
  EXPECT_EQ(type_of("/database"), "ext4");
  EXPECT_EQ(mount_of({}, "/data"), nullptr);
}

TEST(Mounts, InMemoryHaveTheSizeThatTheyWereGiven) {
  const auto size_of = [](const char* options) {
    return mounts_in(fmt::format("30 22 0:26 / /dev/shm rw - tmpfs shm {}", options))
        .front()
        .size_bytes;
  };
  EXPECT_EQ(size_of("rw,size=65536k,inode64"), 64 << 20);
  EXPECT_EQ(size_of("rw,size=65536k"), 64 << 20);
  EXPECT_EQ(size_of("rw"), std::nullopt) << "half of the memory";
  EXPECT_EQ(size_of("rw,size=-5k"), std::nullopt);
  EXPECT_EQ(size_of("rw,size=9223372036854775807k"), std::nullopt);
  EXPECT_EQ(mounts_in("30 22 8:1 / /x rw - ext4 /dev/sda1 rw,size=65536k").front().size_bytes,
            std::nullopt);
}

TEST(Mounts, OfThisHostTellWhatSharedMemoryHasLeft) {
  const std::vector<Mount> mounts = read_mounts(sys::Root());
  const Mount* shared = mount_of(mounts, kSharedMemory);
  if (shared == nullptr || shared->point != kSharedMemory || !shared->is_in_memory()) {
    GTEST_SKIP() << "this host has no shared memory";
  }
  EXPECT_GT(shared->free_bytes, 0);
}

TEST(Mounts, AreNoneOfLinesThatMakeNoSense) {
  for (const std::string_view line :
       {"", "-", " - ", "22 1 259:2 / / rw", "22 1 259:2 / data rw - ext4 /dev/sda rw",
        "22 1 259:2 / /data rw - "}) {
    EXPECT_TRUE(mounts_in(line).empty()) << line;
  }
  EXPECT_EQ(mounts_in("22 1 8:1 / /a\\04 rw - ext4 /dev/sda rw").front().point, "/a\\04");
}

constexpr std::string_view kOfTwoProcesses = R"(
/proc/self/ns/mnt -> mnt:[1]
/proc/self/mountinfo <<END
22 1 8:1 / / rw - ext4 /dev/sda1 rw
23 22 0:44 / /roots rw - nfs4 store:/roots rw
END
/proc/17/mountinfo = 30 22 0:22 / /proc rw - proc proc rw
)";

const Mount* mount_of_file(const fakes::HostTree& tree, const char* file) {
  static ProcessMounts mounts;
  mounts = mounts_of_process(tree.root(), 17);
  return mounts.of(file);
}

// Its own list begins below its root folder, and so lacks what that lies on.
TEST(Mounts, OfAProcessInAChrootAreThoseOfThisOne) {
  const auto tree = fakes::HostTree::from_text(kOfTwoProcesses);
  tree.link("/proc/17/ns/mnt", "mnt:[1]");
  tree.link("/proc/17/root", "/roots/forky");
  EXPECT_EQ(mounts_folder_of(tree.root(), 17), "/proc/self");
  EXPECT_EQ(mount_of_file(tree, "/roots/forky/data/1")->type, "nfs4");
  EXPECT_EQ(mount_of_file(tree, "/data/1")->type, "ext4");
}

TEST(Mounts, OfAProcessInANamespaceOfItsOwnGoByItsRootFolder) {
  const auto tree = fakes::HostTree::from_text(kOfTwoProcesses);
  tree.link("/proc/17/ns/mnt", "mnt:[2]");
  tree.link("/proc/17/root", "/roots/forky");
  EXPECT_EQ(mounts_folder_of(tree.root(), 17), "/proc/17");
  EXPECT_EQ(mount_of_file(tree, "/roots/forky/proc/1")->type, "proc");
  EXPECT_EQ(mount_of_file(tree, "/proc/1"), nullptr) << "opened before it changed its root folder";
  EXPECT_EQ(mount_of_file(tree, "/roots/forky-2/proc/1"), nullptr);
}

TEST(Disks, AreTheWholeOnesOfPartitions) {
  const auto tree = fakes::HostTree::from_text(R"(
/sys/dev/block/259:2 -> ../../devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2
/sys/devices/pci0/nvme/nvme0/nvme0n1/nvme0n1p2/partition = 2
/sys/devices/pci0/nvme/nvme0/nvme0n1/queue/rotational = 0
/sys/devices/pci0/nvme/nvme0/nvme0n1/device/model = Fast 2000
)");
  const auto disk = disk_of(tree.root(), {.device = "259:2"});
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->name, "nvme0n1");
  EXPECT_EQ(disk->model, "Fast 2000");
  EXPECT_EQ(disk->is_rotational, false);
  EXPECT_FALSE(disk_of(tree.root(), {.device = "0:44"}));
  EXPECT_FALSE(disk_of(tree.root(), {}));
}

}  // namespace
}  // namespace chokepoint::host
