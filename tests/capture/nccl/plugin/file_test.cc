// Where the records go, and that a job runs on where they can go nowhere.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <thread>

#include "tests/capture/nccl/plugin/loaded.h"

namespace chokepoint::capture::nccl::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

void expect_nothing(Loaded& loaded) {
  loaded.mask() = 0;
  EXPECT_EQ(loaded.join(), nullptr);
  EXPECT_EQ(loaded.mask(), 0);
  EXPECT_EQ(loaded.file(), nullptr);
  EXPECT_EQ(loaded.start(nullptr, collective(1)), nullptr);
  loaded.stop(nullptr);
  loaded.leave(nullptr);
}

TEST(NcclPluginFile, ItsNameIsTheProcesssAndItIsPrivate) {
  Loaded loaded;
  loaded.join();
  ASSERT_TRUE(loaded.path());
  EXPECT_THAT(loaded.path()->filename().string(), StartsWith(std::to_string(getpid()) + "-"));
  struct stat status = {};
  ASSERT_EQ(stat(loaded.path()->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(status.st_size, static_cast<off_t>(sizeof(File)));
  EXPECT_LT(status.st_blocks * 512, 2'000'000);
}

TEST(NcclPluginFile, WithoutAFolderNothingIsDone) {
  Loaded loaded({.has_folder = false});
  expect_nothing(loaded);
}

TEST(NcclPluginFile, NorInOneThatIsNotThere) {
  Loaded loaded({.folder = "/nonexistent/folder"});
  expect_nothing(loaded);
}

TEST(NcclPluginFile, NorInOneThatDependsOnWhereTheJobStands) {
  Loaded loaded({.folder = "."});
  expect_nothing(loaded);
}

TEST(NcclPluginFile, NorInOneThatIsAFile) {
  Loaded loaded({.folder = "/etc/passwd"});
  expect_nothing(loaded);
}

TEST(NcclPluginFile, NorInOneThatOthersWriteTo) {
  Loaded loaded;
  fs::permissions(loaded.folder(), fs::perms::all);
  expect_nothing(loaded);
  EXPECT_TRUE(fs::is_empty(loaded.folder()));
}

TEST(NcclPluginFile, NorWithANameThatIsTooLong) {
  Loaded loaded({.folder = "/" + std::string(2'000, 'x')});
  expect_nothing(loaded);
}

// A file system of so many kilobytes, for root only.
class Tiny {
 public:
  explicit Tiny(int kilobytes)
      : folder_(fs::temp_directory_path() / "chokepoint-nccl-tiny-XXXXXX") {
    std::string name = folder_.string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    const std::string options = "mode=0700,size=" + std::to_string(kilobytes) + "k";
    is_there_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~Tiny() {
    if (is_there_) {
      umount2(folder_.c_str(), MNT_DETACH);
    }
    fs::remove(folder_);
  }
  Tiny(const Tiny&) = delete;
  Tiny& operator=(const Tiny&) = delete;

  bool is_there() const { return is_there_; }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  bool is_there_ = false;
};

// Made too large, it would not be refused only: the kernel's signal ends the process.
TEST(NcclPluginFile, NorWhereFilesMayNotBeSoLarge) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit less{.rlim_cur = 1'000'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
  {
    Loaded loaded;
    expect_nothing(loaded);
  }
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(NcclPluginFile, AFullFileSystemCostsTheRecordsNotTheJob) {
  const Tiny tiny(64);
  if (!tiny.is_there()) {
    GTEST_SKIP() << "needs root, to mount a file system";
  }
  Loaded loaded({.folder = tiny.folder()});
  void* context = loaded.join();
  for (int each = 0; each < 5'000; ++each) {
    loaded.stop(loaded.start(context, proxy(nullptr, 0, true)));
  }
  EXPECT_THAT(loaded.records(), IsEmpty());
  EXPECT_EQ(loaded.file()->header.unkept.load(), 5'002U);
}

TEST(NcclPluginFile, AFileSystemWithoutAPageLeavesNoFile) {
  const Tiny tiny(4);
  if (!tiny.is_there()) {
    GTEST_SKIP() << "needs root, to mount a file system";
  }
  std::ofstream(tiny.folder() / "full") << std::string(4'096, 'x');
  Loaded loaded({.folder = tiny.folder()});
  expect_nothing(loaded);
}

TEST(NcclPluginFile, WhatIsReservedIsKeptWhenTheRestRunsFull) {
  const Tiny tiny(1'024);
  if (!tiny.is_there()) {
    GTEST_SKIP() << "needs root, to mount a file system";
  }
  Loaded loaded({.folder = tiny.folder()});
  void* context = loaded.join();
  std::ofstream(tiny.folder() / "full") << std::string(1'048'576, 'x');
  for (int each = 0; each < 5'000; ++each) {
    loaded.stop(loaded.start(context, proxy(nullptr, 0, true)));
  }
  EXPECT_THAT(loaded.records(), SizeIs(kSlots));
  EXPECT_EQ(loaded.file()->header.unkept.load(), 0U);
}

// A folder that is cleared meanwhile costs the rings that are not there yet.
TEST(NcclPluginFile, AFileThatIsGoneIsWrittenOn) {
  Loaded loaded;
  void* context = loaded.join();
  ASSERT_NE(loaded.file(), nullptr);
  fs::remove(*loaded.path());
  loaded.start(context, collective(1));
  EXPECT_THAT(loaded.records(Kind::Collective), SizeIs(1));
}

TEST(NcclPluginFile, AnotherFileUnderItsNameIsLeftAlone) {
  Loaded loaded;
  void* context = nullptr;
  ASSERT_EQ(loaded.five().init(&context, 1, &loaded.mask(), nullptr, 1, 1, 0, nullptr), 0);
  const fs::path path = *loaded.path();
  ASSERT_NE(loaded.file(), nullptr);
  fs::remove(path);
  std::ofstream(path) << "somebody else's";
  std::jthread([&] { loaded.start(context, collective(1)); }).join();
  EXPECT_EQ(fs::file_size(path), 15U);
  EXPECT_EQ(loaded.file()->header.unkept.load(), 1U);
}

int in_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(NcclPluginFile, AForkedChildHasNoPartInIt) {
  Loaded loaded;
  void* context = loaded.join();
  void* part = loaded.start(context, proxy(nullptr, 0, true));
  const std::size_t before = loaded.records().size();
  const int status = in_child([&] {
    void* handle = loaded.start(context, collective(1));
    loaded.stop(part);
    loaded.state(part, State::SendWait);
    loaded.leave(context);
    loaded.stop(nullptr);
    int mask = 0;
    void* another = nullptr;
    loaded.five().init(&another, 1, &mask, nullptr, 1, 1, 0, nullptr);
    _exit(handle == nullptr && another == nullptr && mask == 0 ? 0 : 1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_THAT(loaded.records(), SizeIs(before));
  EXPECT_EQ(loaded.file()->header.refused.load(), 0U);
  EXPECT_EQ(loaded.file()->header.stopped.load(), 0U);
  loaded.stop(part);
  EXPECT_THAT(loaded.records(Kind::Proxy), SizeIs(1));
}

TEST(NcclPluginFile, AChildThatWasForkedBeforeHasItsOwn) {
  Loaded loaded;
  const int status = in_child([&] { loaded.join(); });
  EXPECT_EQ(status, 0);
  loaded.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(loaded.folder()), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace chokepoint::capture::nccl::test
