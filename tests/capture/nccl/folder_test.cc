#include "capture/nccl/folder.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>

#include <fstream>

#include "base/record/opening.h"

namespace chokepoint::capture::nccl {
namespace {

namespace fs = std::filesystem;

class FolderTest : public testing::Test {
 protected:
  record::PrivateFolder below_ = std::move(*record::PrivateFolder::make());
};

TEST_F(FolderTest, IsNobodyElsesAndGoneWithItsOwner) {
  fs::path path;
  {
    const auto folder = Folder::make_in(below_.path());
    ASSERT_TRUE(folder);
    path = folder->path();
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700U);
    std::ofstream(path / "1.nccl") << "rings";
    fs::create_symlink("/proc/self/fd/0", path / kPluginFile);
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FolderTest, TakesAwayWhatAKilledRunLeftAndNothingThatIsHeld) {
  const fs::path left = below_.path() / "chokepoint-nccl-abcdef";
  fs::create_directory(left);
  std::ofstream(left / "1.nccl") << "rings";
  const auto first = Folder::make_in(below_.path());
  EXPECT_FALSE(fs::exists(left));
  const auto second = Folder::make_in(below_.path());
  EXPECT_TRUE(fs::exists(first->path()));
  EXPECT_NE(first->path(), second->path());
}

TEST_F(FolderTest, WhatTookItsPlaceMeanwhileIsLeftAlone) {
  const fs::path victim = below_.path() / "victim";
  fs::create_directory(victim);
  std::ofstream(victim / "1.nccl") << "not ours";
  {
    const auto folder = Folder::make_in(below_.path());
    std::ofstream(folder->path() / "1.nccl") << "rings";
    fs::rename(folder->path(), below_.path() / "moved");
    fs::create_directory_symlink(victim, folder->path());
  }
  EXPECT_TRUE(fs::exists(victim / "1.nccl"));
  EXPECT_FALSE(fs::exists(below_.path() / "moved" / "1.nccl"));
}

TEST_F(FolderTest, WhatMemoryIsLeftIsTheJobs) {
  const fs::path memory = below_.path() / "memory";
  const fs::path other = below_.path() / "other";
  fs::create_directory(memory);
  fs::create_directory(other);
  EXPECT_EQ(Folder::make(other, memory, 1)->path().parent_path(), memory);
  EXPECT_EQ(Folder::make(other, memory, ~std::uint64_t{0})->path().parent_path(), other);
  EXPECT_EQ(Folder::make(other, memory / "not there")->path().parent_path(), other);
  EXPECT_EQ(Folder::make(other / "not there", memory / "not there")->path().parent_path(), "/tmp");
  const auto whole = Folder::make(fs::relative(other), memory / "not there");
  EXPECT_TRUE(whole->path().is_absolute());
  EXPECT_EQ(fs::canonical(whole->path().parent_path()), fs::canonical(other));
}

TEST(FolderPlace, IsNoFileSystemThatMayRefuseWhatItReserved) {
  for (const std::uint32_t type :
       std::initializer_list<std::uint32_t>{TMPFS_MAGIC, EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC}) {
    EXPECT_TRUE(keeps_reserved_room(type)) << type;
  }
  for (const std::uint32_t type :
       std::initializer_list<std::uint32_t>{BTRFS_SUPER_MAGIC, NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC}) {
    EXPECT_FALSE(keeps_reserved_room(type)) << type;
  }
}

TEST_F(FolderTest, WhereNothingCanBeMadeItSaysWhatToDo) {
  const auto folder = Folder::make_in(below_.path() / "not there");
  ASSERT_FALSE(folder);
  EXPECT_NE(folder.error().next_step.find("TMPDIR"), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
