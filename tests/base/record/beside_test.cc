// Whatever lies beside a record or in its place: readers and writers end at once and name it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "base/record/collector.h"
#include "base/record/runs.h"
#include "base/record/writer_lock.h"
#include "base/sys/regular_file.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class Beside : public RecordFolder {
 protected:
  void make() { open_writer()->close(0); }

  // A record whose writer was killed: the log is still there.
  void make_killed() {
    auto writer = open_writer();
    writer->add(Label{.key = "a", .value = std::string(100, 'v')});
    const fs::path kept = folder_.path() / "kept";
    fs::create_directory(kept);
    for (const char* ending : {"", "-wal"}) {
      fs::copy(file().string() + ending, kept / ("n1.db" + std::string(ending)));
    }
    writer.reset();
    fs::remove_all(folder());
    fs::rename(kept, folder());
  }

  fs::path beside(const std::string& ending) const { return file().string() + ending; }
  fs::path target() const { return folder_.path() / "target"; }

  // Each kind of thing by its maker, and what is said of it.
  struct Kind {
    const char* words;
    std::function<void(const fs::path&)> put;
  };
  std::vector<Kind> kinds() const {
    return {{"is a FIFO", [](const fs::path& path) { mkfifo(path.c_str(), 0666); }},
            {"is a folder", [](const fs::path& path) { fs::create_directory(path); }},
            {"is a link", [this](const fs::path& path) { fs::create_symlink(target(), path); }},
            {"is a link", [](const fs::path& path) { fs::create_symlink(path.filename(), path); }},
            {"is a link", [](const fs::path& path) { fs::create_symlink("/dev/zero", path); }}};
  }
};

TEST_F(Beside, AReaderNamesWhatIsNoFile) {
  make();
  for (const char* ending : {"-wal", "-shm", "-journal"}) {
    for (const Kind& kind : kinds()) {
      fs::remove(beside(ending));
      kind.put(beside(ending));
      const auto reader = Reader::open(file());
      ASSERT_FALSE(reader) << ending << " " << kind.words;
      const std::string line = describe(reader.error());
      EXPECT_THAT(line, AllOf(HasSubstr(std::string("n1.db") + ending), HasSubstr(kind.words),
                              HasSubstr("remove it"), Not(HasSubstr("not a run record"))));
      fs::remove(beside(ending));
    }
  }
  EXPECT_TRUE(Reader::open(file()));
}

TEST_F(Beside, AWriterNamesWhatIsNoFile) {
  make();
  for (const char* ending : {"-wal", "-shm", "-journal", "-lock"}) {
    for (const Kind& kind : kinds()) {
      kind.put(beside(ending));
      EXPECT_THAT(describe(open_error(options())),
                  AllOf(HasSubstr(std::string("n1.db") + ending), HasSubstr(kind.words)));
      EXPECT_FALSE(fs::exists(target())) << "made through a link";
      fs::remove(beside(ending));
      EXPECT_FALSE(fs::exists(beside("-lock")));
    }
  }
  EXPECT_EQ(open_writer()->close(0).dropped, 0U);
}

TEST_F(Beside, WhatIsInTheRecordsPlaceIsNamed) {
  fs::create_directories(folder());
  for (const Kind& kind : kinds()) {
    kind.put(file());
    EXPECT_THAT(describe(open_error(options())), AllOf(HasSubstr("n1.db"), HasSubstr(kind.words)));
    const auto reader = Reader::open(file());
    ASSERT_FALSE(reader);
    EXPECT_THAT(describe(reader.error()), HasSubstr(kind.words));
    EXPECT_FALSE(fs::exists(target())) << "made through a link";
    fs::remove(file());
  }
}

TEST_F(Beside, ALinkToARecordIsNotWrittenThrough) {
  make();
  fs::rename(file(), target());
  const auto size = fs::file_size(target());
  fs::create_symlink(target(), file());
  EXPECT_THAT(describe(open_error(options())), HasSubstr("is a link"));
  EXPECT_EQ(fs::file_size(target()), size);
}

TEST_F(Beside, AFolderMayBeReachedByALink) {
  make();
  const fs::path link = folder_.path() / "link";
  fs::create_directory_symlink(folder(), link);
  EXPECT_TRUE(Reader::open(link / "n1.db"));
  WriterOptions there = options();
  there.folder = link;
  EXPECT_EQ(open_writer(there)->close(0).dropped, 0U);
}

TEST_F(Beside, NobodyWritesWhereTheLockIsNoFile) {
  make();
  for (const Kind& kind : kinds()) {
    kind.put(beside("-lock"));
    EXPECT_FALSE(is_being_written(file()));
    EXPECT_FALSE(why_without_end(file()).empty());
    fs::remove(beside("-lock"));
  }
}

// A FIFO that comes between the look at the names and SQLite's own open().
TEST_F(Beside, SqliteItselfOpensNoFifo) {
  make();
  auto database = Database::open(file(), Access::Write);
  ASSERT_TRUE(database);
  mkfifo(beside("-wal").c_str(), 0666);
  EXPECT_FALSE(database->run("PRAGMA journal_mode=WAL;CREATE TABLE a(b);"));
  auto other = Database::open(folder() / "other.db", Access::Write);
  ASSERT_TRUE(other && other->run("CREATE TABLE first(a);"));
  mkfifo((folder() / "other.db-journal").c_str(), 0666);
  EXPECT_FALSE(other->run("CREATE TABLE a(b);"));
}

// https://sqlite.org/fileformat.html, 3: a journal of several files ends with the name of another
// one, which is removed when the journal has been played back.
TEST_F(Beside, AJournalRemovesNoFileThatItNames) {
  make();
  std::ofstream(target()) << "somebody's";
  std::string header("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  const auto number = [](std::uint32_t value) {
    std::string bytes(4, '\0');
    for (std::size_t at = 0; at < 4; ++at) {
      bytes[at] = static_cast<char>(value >> (24 - 8 * at) & 0xffU);
    }
    return bytes;
  };
  header += number(0) + number(0) + number(1) + number(512) + number(4096);
  header.resize(512, '\0');
  const std::string name = target().string();
  std::uint32_t sum = 0;
  for (const char letter : name) {
    sum += static_cast<unsigned char>(letter);
  }
  std::ofstream(beside("-journal"), std::ios::binary)
      << header << number(0x40000000U / 4096 + 1) << name
      << number(static_cast<std::uint32_t>(name.size())) << number(sum)
      << std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  auto writer = Writer::open(options(), host_.root(), clock_);
  EXPECT_TRUE(fs::exists(target())) << "removed because a journal names it";
}

class Sparse : public Beside {
 protected:
  static constexpr std::int64_t kLong = 3LL << 30;
  static std::int64_t stored_below(const fs::path& folder) {
    std::int64_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      struct stat found{};
      if (lstat(entry.path().c_str(), &found) == 0) {
        sum += std::int64_t{found.st_blocks} * 512;
      }
    }
    return sum;
  }
};

TEST_F(Sparse, ACopyTakesWhatIsStored) {
  make_killed();
  fs::resize_file(file(), kLong);
  // Nothing may be made beside it, so that the log is joined in a copy.
  auto opened = open_to_read(file());
  if (opened && !opened->copy) {
    fs::resize_file(file().string() + "-shm", 0);
  }
  ASSERT_TRUE(opened) << describe(opened.error());
  EXPECT_LT(opened->database.bytes(), 4 << 20) << "bounds go by what is stored";
  if (opened->copy) {
    EXPECT_LT(stored_below(opened->copy->path()), 4 << 20);
  }
}

TEST_F(Sparse, ACutRecordsCopyTakesWhatIsStored) {
  make();
  {
    // As if it had been 5 GB long.
    std::fstream header(file(), std::ios::binary | std::ios::in | std::ios::out);
    header.seekp(28);
    header.write("\x00\x14\x00\x00", 4);
  }
  fs::resize_file(file(), kLong);
  const auto opened = open_to_read(file());
  ASSERT_TRUE(opened) << describe(opened.error());
  ASSERT_TRUE(opened->copy);
  EXPECT_LT(stored_below(opened->copy->path()), 4 << 20);
}

TEST_F(Sparse, HolesDoNotWidenWhatReadingMayCost) {
  make();
  WorkBound small(file());
  fs::resize_file(file(), kLong);
  WorkBound sparse(file());
  EXPECT_LT(sparse.bytes(), small.bytes() + (1 << 16));
  EXPECT_FALSE(sparse.allows_rows(kLong / 100));
}

TEST_F(Sparse, ARecordOfHolesIsNotSent) {
  make();
  {
    std::fstream header(file(), std::ios::binary | std::ios::in | std::ios::out);
    header.seekp(28);
    header.write("\x00\x0c\x00\x00", 4);
  }
  fs::resize_file(file(), kLong);
  std::int64_t sent = 0;
  const auto left_out = send_records(folder(), {}, [&](std::string_view bytes) -> Result<> {
    sent += static_cast<std::int64_t>(bytes.size());
    return {};
  });
  ASSERT_TRUE(left_out);
  ASSERT_EQ(left_out->size(), 1U);
  EXPECT_THAT(describe(left_out->front()), HasSubstr("the rest are holes"));
  EXPECT_LT(sent, 10'000);
}

TEST_F(Sparse, AHugePartIsNotHashed) {
  make();
  fs::resize_file(file(), 1LL << 40);
  EXPECT_TRUE(Collector(folder()).beginnings("a").empty());
}

TEST_F(Beside, APartThatIsALinkIsNotFollowed) {
  make();
  std::ofstream(target()) << "somebody's";
  std::string bundle;
  ASSERT_TRUE(send_records(folder(), {}, [&](std::string_view bytes) -> Result<> {
    bundle += bytes;
    return {};
  }));
  const fs::path there = folder_.path() / "there";
  fs::create_directory(there);
  for (const Kind& kind : kinds()) {
    kind.put(there / ".n1.db@a.part");
    std::size_t at = 0;
    BundleReader reader([&](std::span<char> into) -> Result<std::size_t> {
      const std::size_t count = std::min(into.size(), bundle.size() - at);
      bundle.copy(into.data(), count, at);
      at += count;
      return count;
    });
    ASSERT_TRUE(reader.head());
    const auto entry = reader.next();
    ASSERT_TRUE(entry && *entry);
    const auto taken = Collector(there).take(reader, **entry, "a");
    ASSERT_FALSE(taken);
    EXPECT_THAT(describe(taken.error()), HasSubstr(kind.words));
    fs::remove(there / ".n1.db@a.part");
  }
  EXPECT_EQ(fs::file_size(target()), 10U);
}

TEST_F(Beside, AnotherUsersFolderIsKnown) {
  EXPECT_FALSE(other_owner("/"));
  if (geteuid() != 0) {
    EXPECT_EQ(other_owner(folder_.path()), geteuid());
    return;
  }
  make();
  EXPECT_EQ(other_owner(folder()), std::nullopt);
  const fs::path theirs = folder_.path() / "theirs";
  fs::create_directory(theirs);
  ASSERT_EQ(lchown(theirs.c_str(), 1234, 1234), 0);
  EXPECT_EQ(other_owner(theirs), 1234U);
  EXPECT_EQ(other_owner(theirs / "812"), 1234U) << "who owns a folder above it";
  fs::create_directory_symlink(folder(), folder_.path() / "link");
  ASSERT_EQ(lchown((folder_.path() / "link").c_str(), 1234, 1234), 0);
  EXPECT_EQ(other_owner(folder_.path() / "link"), 1234U) << "who owns a link to it";
}

}  // namespace
}  // namespace chokepoint::record
