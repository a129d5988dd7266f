// Files that somebody made to do harm, and copies that are not whole: one clear line, soon.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fstream>

#include "base/record/schema.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/golden.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

// Pages of SQLite, patched by hand. https://sqlite.org/fileformat.html, 1.6.
class Pages {
 public:
  static constexpr std::size_t kPageBytes = 4096;

  explicit Pages(const fs::path& path)
      : file_(path, std::ios::binary | std::ios::in | std::ios::out) {}

  std::uint32_t right_child(std::uint32_t page) {
    std::array<unsigned char, 4> bytes{};
    file_.seekg(at(page) + 8);
    file_.read(reinterpret_cast<char*>(bytes.data()), bytes.size());
    return static_cast<std::uint32_t>(bytes[0]) << 24U |
           static_cast<std::uint32_t>(bytes[1]) << 16U |
           static_cast<std::uint32_t>(bytes[2]) << 8U | bytes[3];
  }

  // An interior page all of whose children are one page.
  void refer_often(std::uint32_t page, std::uint32_t child) {
    constexpr std::size_t kCells = 500;
    constexpr std::size_t kCellBytes = 5;
    std::string bytes(kPageBytes, '\0');
    const auto put = [&](std::size_t place, std::size_t count, std::size_t value) {
      for (std::size_t left = count; left > 0; --left, value >>= 8U) {
        bytes[place + left - 1] = static_cast<char>(value & 0xffU);
      }
    };
    put(0, 1, 5);
    put(3, 2, kCells);
    put(5, 2, kPageBytes - kCells * kCellBytes);
    put(8, 4, child);
    for (std::size_t cell = 0; cell < kCells; ++cell) {
      const std::size_t place = kPageBytes - (cell + 1) * kCellBytes;
      put(12 + 2 * cell, 2, place);
      put(place, 4, child);
      put(place + 4, 1, 1);
    }
    write(page, bytes);
  }

  void clear(std::uint32_t page) { write(page, std::string(kPageBytes, '\0')); }

 private:
  static std::streamoff at(std::uint32_t page) {
    return static_cast<std::streamoff>(page - 1) * static_cast<std::streamoff>(kPageBytes);
  }
  void write(std::uint32_t page, const std::string& bytes) {
    file_.seekp(at(page));
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file_.flush();
  }

  std::fstream file_;
};

class HostileRecord : public RecordFolder {
 protected:
  void make(std::int64_t samples = 10) {
    auto writer = open_writer();
    {
      Producer producer = writer->producer("test");
      for (std::int64_t number = 1; number <= samples; ++number) {
        producer.push(CounterSample{.t_ns = number, .series = 1, .value = 1e9});
      }
    }
    writer->close(0);
  }

  void change(const std::string& sql) {
    auto database = Database::open(file(), Access::Write);
    ASSERT_TRUE(database);
    const Result<> done = database->run(sql);
    ASSERT_TRUE(done) << describe(done.error());
  }

  std::int64_t root_of(const std::string& table) {
    auto database = Database::open(file(), Access::Immutable);
    return *database->number("SELECT rootpage FROM sqlite_schema WHERE name='" + table + "'");
  }

  // Billions of rows from three pages: each refers to the next one 500 times.
  void repeat(const std::string& table) {
    const auto root = static_cast<std::uint32_t>(root_of(table));
    auto database = Database::open(file(), Access::Immutable);
    const auto end = static_cast<std::uint32_t>(*database->number("PRAGMA page_count"));
    Pages pages(file());
    const std::uint32_t leaf = pages.right_child(root);
    ASSERT_GT(leaf, 0U);
    ASSERT_LE(leaf, end);
    pages.refer_often(root, end - 1);
    pages.refer_often(end - 1, end - 2);
    pages.refer_often(end - 2, leaf);
  }

  Error refused() const {
    const auto reader = Reader::open(file());
    EXPECT_FALSE(reader);
    if (reader) {
      return {};
    }
    const Error& error = reader.error();
    EXPECT_EQ(error.kind, ErrorKind::Malformed);
    EXPECT_EQ(error.subject, file().string());
    EXPECT_EQ(describe(error).find_first_of("\n\x1b"), std::string::npos);
    return error;
  }
};

bool says_to_copy_again(const Error& error) { return error.next_step.contains("-wal"); }

constexpr const char* kEndless =
    "CREATE VIEW label AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n)"
    " SELECT 1 AS session, i AS key, 'v' AS value FROM n;";

const std::string kTrigger =
    "CREATE TRIGGER bite AFTER INSERT ON event BEGIN DELETE FROM session; END;";

TEST_F(HostileRecord, PictureOfTablesThatNoRecordHas) {
  make();
  const fs::path whole = folder_.path() / "whole";
  fs::copy_file(file(), whole);
  fakes::Sentences sentences;
  for (const auto& [what, sql] : std::initializer_list<std::pair<const char*, std::string>>{
           {"an endless view in place of a table", std::string("DROP TABLE label;") + kEndless},
           {"a view of a name that moves the cursor", "CREATE VIEW \"a\x1b[31m\" AS SELECT 1;"},
           {"a trigger", kTrigger},
           {"a generated column",
            "DROP TABLE clock_anchor;CREATE TABLE clock_anchor(session INTEGER, t_ns INTEGER,"
            " wall_ns INTEGER AS (length(zeroblob(1000000000))));"},
           {"a column of another name", "ALTER TABLE step RENAME COLUMN rank TO place;"},
           {"a table less", "DROP TABLE step;"},
           {"schema -1", "PRAGMA user_version=-1"},
           {"schema 0", "PRAGMA user_version=0"},
           {"an older schema with a view",
            std::string("PRAGMA user_version=2;DROP TABLE label;") + kEndless}}) {
    fs::copy_file(whole, file(), fs::copy_options::overwrite_existing);
    change(sql);
    sentences.add(what, refused().reason);
  }
  EXPECT_GOLDEN("sentences_hostile_records", sentences.text());
}

TEST_F(HostileRecord, ATriggerOrASchemaThatNoRecordHasIsNotGoneOnWith) {
  make();
  change("PRAGMA user_version=-1");
  EXPECT_EQ(open_error(options()).kind, ErrorKind::Malformed);
  change("PRAGMA user_version=" + std::to_string(kSchemaVersion) + ";" + kTrigger);
  EXPECT_EQ(open_error(options()).kind, ErrorKind::Malformed);
}

TEST_F(HostileRecord, AVirtualTable) {
  make();
  auto database = Database::open(file(), Access::Write);
  if (!database->run(
          "DROP TABLE label;CREATE VIRTUAL TABLE label USING fts5(session,key,value);")) {
    GTEST_SKIP() << "this SQLite has no fts5";
  }
  EXPECT_NE(refused().reason.find("'label'"), std::string::npos);
}

TEST_F(HostileRecord, TablesAndIndexesOfOthersAreLeftAlone) {
  make();
  change("CREATE TABLE notes(text);CREATE INDEX by_series ON counter_sample(series);");
  Reader reader = open_reader();
  EXPECT_EQ(rows<CounterSample>(reader).size(), 10U);
}

TEST_F(HostileRecord, PictureOfRowsAndTextsWithoutEnd) {
  fakes::Sentences sentences;
  const auto add = [&](const char* what, const auto& result) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().kind, ErrorKind::Malformed) << what;
    sentences.add(what, result.error().reason + "; " + result.error().next_step);
  };
  make(5000);
  repeat("counter_sample");
  {
    Reader reader = open_reader();
    add("pages that make billions of rows, counted", reader.count<CounterSample>());
    add("the same, read", reader.each<CounterSample>([](const CounterSample&) {}));
    // The search may find nothing in it, but it ends.
    [[maybe_unused]] const Result<> found =
        reader.each_in<CounterSample>({{0, 1LL << 60}}, [](const CounterSample&) {});
  }
  fs::remove(file());
  make();
  change(
      "WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i+1 FROM n WHERE i<1400)"
      " INSERT INTO event(id,detail) SELECT i,hex(zeroblob(1900)) FROM n;");
  repeat("event");
  add("texts that repeat until the memory is full", open_reader().all<Event>());
  fs::remove(file());
  make();
  change("INSERT INTO label VALUES(1,'a',zeroblob(70000000));");
  add("a text of 70 MB", open_reader().all<Label>());
  EXPECT_GOLDEN("sentences_endless_records", sentences.text());
}

TEST_F(HostileRecord, NumbersThatNoClockShows) {
  make();
  change("UPDATE counter_sample SET t_ns=9223372036854775807 WHERE rowid=5;");
  Reader reader = open_reader();
  const Result<> each = reader.each<CounterSample>([](const CounterSample&) {});
  ASSERT_FALSE(each);
  EXPECT_NE(each.error().reason.find("counter_sample.t_ns"), std::string::npos);
}

// Readers take differences of times, sums of two differences, and a thousand times the
// microseconds.
TEST_F(HostileRecord, NumbersWhoseArithmeticWouldNotFit) {
  struct Case {
    std::string set;
    bool is_good;
  };
  make();
  for (const auto& [set, is_good] :
       {Case{"t_ns=3458764513820540928", true}, Case{"t_ns=3458764513820540929", false},
        Case{"t_ns=-1125899906842624", true}, Case{"t_ns=-1125899906842625", false},
        Case{"bin_ns=-3458764513820540928", false}, Case{"merged=2305843009213693952", true},
        Case{"merged=2305843009213693953", false}}) {
    change(
        "UPDATE counter_sample SET t_ns=5,bin_ns=0,merged=1 WHERE rowid=5;"
        "UPDATE counter_sample SET " +
        set + " WHERE rowid=5;");
    Reader reader = open_reader();
    EXPECT_EQ(reader.each<CounterSample>([](const CounterSample&) {}).has_value(), is_good) << set;
  }
  EXPECT_FALSE(check_range(SocketSample{.busy_us = kMostNs / 1000 + 1}));
  EXPECT_TRUE(check_range(SocketSample{.busy_us = kMostNs / 1000}));
  EXPECT_TRUE(check_range(ClockOffset{.offset_ns = -kMostNs})) << "a clock may be behind another";
}

TEST_F(HostileRecord, RowidsAtTheEndOfAllNumbers) {
  make();
  change(
      "UPDATE counter_sample SET rowid=9223372036854775807 WHERE rowid=5;"
      "INSERT INTO fold VALUES('counter_sample',1,9223372036854775807,9223372036854775807);");
  Reader reader = open_reader();
  std::size_t seen = 0;
  EXPECT_TRUE(reader.each_in<CounterSample>({{0, std::numeric_limits<std::int64_t>::max()}},
                                            [&](const CounterSample&) { ++seen; }));
  EXPECT_EQ(seen, 9U);
  EXPECT_TRUE(reader.search<CounterSample>()->rows_before(5));
}

TEST_F(HostileRecord, ACutSaysToCopyAgain) {
  make(3000);
  const auto whole = static_cast<std::int64_t>(fs::file_size(file()));
  for (std::int64_t left = whole - 1; left > 4096; left -= whole / 12) {
    fs::resize_file(file(), static_cast<std::uintmax_t>(left));
    const auto reader = Reader::open(file());
    const Error error = reader ? *reader->damage() : reader.error();
    EXPECT_TRUE(says_to_copy_again(error)) << left << " of " << whole << ": " << describe(error);
  }
}

TEST_F(HostileRecord, ACopyWithoutItsLogSaysToCopyAgain) {
  auto writer = open_writer();
  const fs::path alone = folder_.path() / "alone.db";
  fs::copy(file(), alone);
  const auto reader = Reader::open(alone);
  ASSERT_FALSE(reader);
  EXPECT_TRUE(says_to_copy_again(reader.error())) << describe(reader.error());
  writer->close(0);
}

TEST_F(HostileRecord, PagesThatDoNotFitTogetherSayToCopyAgain) {
  make(5000);
  const auto root = static_cast<std::uint32_t>(root_of("counter_sample"));
  {
    Pages pages(file());
    pages.clear(pages.right_child(root));
  }
  Reader reader = open_reader();
  const Result<> each = reader.each<CounterSample>([](const CounterSample&) {});
  ASSERT_FALSE(each);
  EXPECT_EQ(each.error().kind, ErrorKind::Malformed);
  EXPECT_TRUE(says_to_copy_again(each.error())) << describe(each.error());
}

}  // namespace
}  // namespace chokepoint::record
