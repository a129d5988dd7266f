#include "base/record/writer_lock.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/record/opening.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::record {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

// As on an NFS without a lock daemon.
int no_locks(int /*file*/, int /*operation*/) {
  errno = ENOLCK;
  return -1;
}

class WithoutLocks : public testing::Test {
 protected:
  fs::path record() const { return folder_.path() / "n1.db"; }
  fs::path lock() const { return folder_.path() / "n1.db-lock"; }
  Result<WriterLock> take(const sys::Root& root = {}) const {
    return WriterLock::take(record(), root, &no_locks);
  }
  void leave(const std::string& holder) const { std::ofstream(lock()) << holder; }
  // Nothing has been written for a minute.
  void age() const {
    for (const fs::path& path : {record(), lock()}) {
      std::error_code missing;
      fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::minutes(1),
                          missing);
    }
  }
  std::string text() const {
    std::ifstream file(lock());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  PrivateFolder folder_ = std::move(*PrivateFolder::make());
};

TEST_F(WithoutLocks, ASecondWriterIsKeptOut) {
  {
    const auto first = take();
    ASSERT_TRUE(first);
    EXPECT_FALSE(first->has_locks());
    age();  // it runs, however long it has written nothing
    const auto second = take();
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
  }
  EXPECT_FALSE(fs::exists(lock()));
  EXPECT_TRUE(take());
}

TEST_F(WithoutLocks, AProcessThatIsGoneHoldsNothing) {
  std::string before;
  {
    const auto first = take();
    before = text();
  }
  // Another process with the same number.
  const std::size_t start = before.find("start=") + 6;
  leave(before.substr(0, start) + "1\n");
  const auto second = take();
  ASSERT_TRUE(second) << describe(second.error());
  EXPECT_EQ(text(), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

TEST_F(WithoutLocks, AnotherHostHoldsWhatItWrites) {
  std::ofstream(record()) << "rows";
  leave("boot=elsewhere\npids=pid:[1]\npid=1\nstart=1\n");
  EXPECT_EQ(take().error().kind, ErrorKind::Busy);
  age();
  EXPECT_TRUE(take()) << "nothing was written for a minute";
}

TEST_F(WithoutLocks, AHolderThatIsNotToldCountsByItsWriting) {
  for (const char* text : {"", "\n\n", "pid=../../etc\nstart=1\n"}) {
    leave(text);
    EXPECT_EQ(take().error().kind, ErrorKind::Busy) << text;
    age();
    EXPECT_TRUE(take()) << text;
  }
}

TEST_F(WithoutLocks, ProcIsNotNeeded) {
  const auto host = fakes::HostTree::from_text("/proc/sys/kernel/hostname = alpha\n");
  const auto first = take(host.root());
  ASSERT_TRUE(first);
  EXPECT_EQ(take(host.root()).error().kind, ErrorKind::Busy);
}

TEST_F(WithoutLocks, WhoeverTookThePlaceKeepsIt) {
  const auto other = fakes::HostTree::from_text("/proc/sys/kernel/random/boot_id = b\n");
  auto first = take();
  ASSERT_TRUE(first);
  age();
  // From another host it looks abandoned.
  const auto second = take(other.root());
  ASSERT_TRUE(second);
  {
    const WriterLock ended = std::move(*first);
  }
  EXPECT_TRUE(fs::exists(lock()));
}

TEST(WriterLock, AFileWithoutAHolderIsFree) {
  const PrivateFolder folder = std::move(*PrivateFolder::make());
  std::ofstream(folder.path() / "n1.db-lock") << "boot=\n";
  const auto taken = WriterLock::take(folder.path() / "n1.db");
  ASSERT_TRUE(taken);
  EXPECT_TRUE(taken->has_locks());
  EXPECT_EQ(WriterLock::take(folder.path() / "n1.db").error().kind, ErrorKind::Busy);
}

}  // namespace
}  // namespace chokepoint::record
