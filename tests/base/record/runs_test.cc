#include "base/record/runs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Runs : public RecordFolder {
 protected:
  void write(const fs::path& folder, const std::string& node, const std::string& role = "run") {
    WriterOptions wanted = options();
    wanted.folder = folder;
    wanted.node = node;
    wanted.role = role;
    wanted.command = role == "run" ? std::vector<std::string>{"train"} : std::vector<std::string>();
    open_writer(wanted)->close();
  }

  static void age(const fs::path& file, std::int64_t seconds) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    const timespec times[2] = {now, now};
    ASSERT_EQ(utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
};

TEST_F(Runs, ARecordIsBeingWrittenWhileItsWriterLives) {
  auto writer = open_writer();
  EXPECT_TRUE(is_being_written(file()));
  writer->close();
  writer.reset();
  EXPECT_FALSE(is_being_written(file()));
  EXPECT_FALSE(is_being_written(folder() / "none.db"));
}

TEST_F(Runs, ALockThatNobodyHoldsIsLeftOver) {
  write(folder(), "n1");
  std::ofstream(file().string() + "-lock");
  EXPECT_FALSE(is_being_written(file()));
}

TEST_F(Runs, AFolderWithThisNodesJobHoldsAnEarlierRun) {
  EXPECT_FALSE(holds_earlier_run(folder(), "n1")) << "it is not there";
  write(folder(), "n1");
  EXPECT_TRUE(holds_earlier_run(folder(), "n1"));
  EXPECT_FALSE(holds_earlier_run(folder(), "n2")) << "n1 may have ended at once";
  age(file(), 120);
  EXPECT_TRUE(holds_earlier_run(folder(), "n2"));
}

TEST_F(Runs, ProbesAreNoRun) {
  write(folder(), "n1", "probe tcp");
  age(file(), 120);
  EXPECT_FALSE(holds_earlier_run(folder(), "n1"));
  EXPECT_FALSE(holds_earlier_run(folder(), "n2"));
}

TEST_F(Runs, ARunThatSomeNodeStillWritesCanBeJoined) {
  write(folder(), "n1");
  WriterOptions wanted = options();
  wanted.node = "n2";
  const auto writer = open_writer(wanted);
  EXPECT_FALSE(holds_earlier_run(folder(), "n1"));
}

TEST_F(Runs, TheNextFreeNameIsTheFirstThatHoldsNone) {
  EXPECT_EQ(next_free(folder(), "n1"), fs::path(folder().string() + "-2"));
  write(folder().string() + "-2", "n1");
  fs::create_directory(folder().string() + "-3");
  EXPECT_EQ(next_free(folder(), "n1"), fs::path(folder().string() + "-3"));
}

TEST_F(Runs, ANewFolderIsNobodyElses) {
  EXPECT_EQ(make_new_folder(folder()), folder());
  EXPECT_EQ(make_new_folder(folder()), fs::path(folder().string() + "-2"));
  EXPECT_EQ(make_new_folder(folder()), fs::path(folder().string() + "-3"));
  EXPECT_TRUE(fs::is_empty(folder().string() + "-3"));
  EXPECT_EQ(make_new_folder(folder() / "below" / "it"), folder() / "below" / "it");
  std::ofstream(folder() / "file");
  EXPECT_EQ(make_new_folder(folder() / "file" / "it").error().kind, ErrorKind::Usage);
}

TEST_F(Runs, ARecordWithoutAnEndGoesOnOrWasKilledOrLacksItsLog) {
  const auto writer = open_writer();
  EXPECT_EQ(why_without_end(file()), "it goes on");
  const fs::path copy = folder_.path() / "copy" / "n1.db";
  fs::create_directory(copy.parent_path());
  fs::copy_file(file(), copy);
  EXPECT_THAT(why_without_end(copy), HasSubstr("its log n1.db-wal is not here"));
  std::ofstream(copy.string() + "-wal");
  EXPECT_THAT(why_without_end(copy), HasSubstr("its log n1.db-wal is not here"));
  fs::remove(copy.string() + "-wal");
  fs::copy_file(file().string() + "-wal", copy.string() + "-wal");
  EXPECT_EQ(why_without_end(copy), "it goes on, or was killed");
}

TEST_F(Runs, ThoseBelowAFolderAreListedTheNewestFirst) {
  const fs::path parent = folder_.path() / "runs";
  write(parent / "old", "n1");
  write(parent / "sweep" / "1", "n1");
  write(parent / "new", "n1");
  fs::create_directories(parent / "empty" / "deeper");
  age(parent / "old" / "n1.db", 300);
  age(parent / "sweep" / "1" / "n1.db", 200);
  const auto runs = runs_below(parent);
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(runs[0].path, parent / "new");
  EXPECT_EQ(runs[1].path, parent / "sweep" / "1");
  EXPECT_EQ(runs[2].path, parent / "old");
  EXPECT_TRUE(runs_below(folder_.path() / "nowhere").empty());
}

}  // namespace
}  // namespace chokepoint::record
