#include "base/record/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/record/schema.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

class RecordReader : public RecordFolder {
 protected:
  void write_samples(std::int64_t count) {
    auto writer = open_writer();
    {
      Producer producer = writer->producer("test");
      for (std::int64_t number = 1; number <= count; ++number) {
        producer.push(CounterSample{.t_ns = number, .series = 1, .value = 1e9});
      }
    }
    writer->close(0);
  }

  // The record as a killed writer leaves it: rows still in the log, nothing tidied away.
  void copy_while_written(const fs::path& to) {
    auto writer = open_writer();
    Producer producer = writer->producer("test");
    producer.push(CounterSample{.t_ns = 1, .series = 1});
    wait_for_rows(*writer, 1);
    fs::create_directories(to);
    fs::copy(file(), to / "n1.db");
    fs::copy(file().string() + "-wal", to / "n1.db-wal");
  }

  static void wait_for_rows(const Writer& writer, std::uint64_t rows) {
    for (int left = 1000; left > 0 && writer.status().rows < rows; --left) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_GE(writer.status().rows, rows);
  }

  Error error() const {
    const auto reader = Reader::open(file());
    EXPECT_FALSE(reader);
    return reader ? Error{} : reader.error();
  }
};

// A read-only mount of a folder, where this process may mount.
class ReadOnlyMount {
 public:
  explicit ReadOnlyMount(fs::path folder) : folder_(std::move(folder)) {
    is_mounted_ = mount(folder_.c_str(), folder_.c_str(), nullptr, MS_BIND, nullptr) == 0;
    error_ = is_mounted_ ? 0 : errno;
    if (is_mounted_) {
      mount(nullptr, folder_.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr);
    }
  }
  ~ReadOnlyMount() {
    if (is_mounted_) {
      umount2(folder_.c_str(), MNT_DETACH);
    }
  }
  bool is_mounted() const { return is_mounted_; }
  std::string why_not() const { return std::string("cannot mount: ") + std::strerror(error_); }

 private:
  fs::path folder_;
  bool is_mounted_ = false;
  int error_ = 0;
};

TEST_F(RecordReader, SeesALiveRecordGrow) {
  auto writer = open_writer();
  Producer producer = writer->producer("test");
  producer.push(CounterSample{.t_ns = 1, .series = 1});
  wait_for_rows(*writer, 1);
  Reader reader = open_reader();
  EXPECT_EQ(*reader.count<CounterSample>(), 1);
  EXPECT_FALSE(reader.sessions().at(0).end_ns.known());
  producer.push(CounterSample{.t_ns = 2, .series = 1});
  wait_for_rows(*writer, 2);
  EXPECT_EQ(*reader.count<CounterSample>(), 2);
  EXPECT_EQ(writer->close().dropped, 0U);
}

TEST_F(RecordReader, JoinsTheLogOfAKilledWriter) {
  const fs::path left = folder_.path() / "left";
  copy_while_written(left);
  auto reader = Reader::open(left / "n1.db");
  ASSERT_TRUE(reader) << describe(reader.error());
  EXPECT_EQ(*reader->count<CounterSample>(), 1);
}

TEST_F(RecordReader, ReadsAClosedRecordOnAReadOnlyMount) {
  write_samples(10);
  const ReadOnlyMount mount(folder());
  if (!mount.is_mounted()) {
    GTEST_SKIP() << mount.why_not();
  }
  EXPECT_EQ(*open_reader().count<CounterSample>(), 10);
  EXPECT_EQ(open_error(options()).kind, ErrorKind::ReadOnly);
}

TEST_F(RecordReader, ReadsAKilledRecordOnAReadOnlyMount) {
  const fs::path left = folder_.path() / "left";
  copy_while_written(left);
  const ReadOnlyMount mount(left);
  if (!mount.is_mounted()) {
    GTEST_SKIP() << mount.why_not();
  }
  auto reader = Reader::open(left / "n1.db");
  ASSERT_TRUE(reader) << describe(reader.error());
  EXPECT_EQ(*reader->count<CounterSample>(), 1);
}

TEST_F(RecordReader, ReadsWhatACutLeft) {
  write_samples(20'000);
  fs::resize_file(file(), fs::file_size(file()) / 2);
  Reader reader = open_reader();
  ASSERT_TRUE(reader.damage());
  EXPECT_THAT(describe(*reader.damage()), HasSubstr("cut short"));
  EXPECT_EQ(reader.sessions().size(), 1U);
  std::int64_t count = 0;
  std::int64_t last_ns = 0;
  const Result<> done = reader.each<CounterSample>([&](const CounterSample& sample) {
    EXPECT_GT(sample.t_ns, last_ns) << "the page that the cut went through may be missing";
    last_ns = sample.t_ns;
    ++count;
  });
  EXPECT_FALSE(done);
  EXPECT_GT(count, 1000);
}

TEST_F(RecordReader, ACutAtAnyPlaceIsAnErrorOrARestButNoCrash) {
  write_samples(3000);
  const auto size = static_cast<std::int64_t>(fs::file_size(file()));
  for (std::int64_t left = size; left >= 0; left -= 997) {
    fs::resize_file(file(), static_cast<std::uintmax_t>(left));
    auto reader = Reader::open(file());
    if (!reader) {
      EXPECT_EQ(reader.error().kind, ErrorKind::Malformed);
      continue;
    }
    const Result<> read = reader->each<CounterSample>([](const CounterSample&) {});
    EXPECT_TRUE(read || read.error().kind == ErrorKind::Malformed);
    const auto events = reader->all<Event>();
    EXPECT_TRUE(events || events.error().kind == ErrorKind::Malformed);
  }
}

// Every sample of 10 ms, but two of a producer that was late; then the same with half of them gone.
TEST_F(RecordReader, ReadsASpanAsIfItHadReadAll) {
  constexpr std::int64_t kStepNs = 10'000'000;
  auto writer = open_writer();
  {
    Producer producer = writer->producer("test");
    for (std::int64_t number = 1; number <= 2000; ++number) {
      const std::int64_t late = number % 100 == 50 ? 90 : 0;
      producer.push(CounterSample{.t_ns = (number - late) * kStepNs, .series = 1, .value = 1});
    }
  }
  writer->close(0);
  for (const bool has_gaps : {false, true}) {
    if (has_gaps) {
      auto database = Database::open(file(), Access::Write);
      ASSERT_TRUE(database->run("DELETE FROM counter_sample WHERE rowid % 7 < 4"));
    }
    Reader reader = open_reader();
    const std::vector<CounterSample> all = rows<CounterSample>(reader);
    for (const Span span : {Span{0, kStepNs}, Span{1000 * kStepNs, 1003 * kStepNs},
                            Span{555 * kStepNs, 1500 * kStepNs}, Span{1999 * kStepNs, 1LL << 60}}) {
      std::size_t expected = 0;
      for (const CounterSample& sample : all) {
        expected += sample.t_ns >= span.start_ns && sample.t_ns <= span.end_ns ? 1 : 0;
      }
      std::size_t seen = 0;
      const Result<> done =
          reader.each_in<CounterSample>({span}, [&](const CounterSample&) { ++seen; });
      EXPECT_TRUE(done);
      EXPECT_EQ(seen, expected);
    }
  }
}

TEST_F(RecordReader, AVisitEndsWhereTheVisitorSaysSo) {
  auto writer = open_writer();
  {
    Producer producer = writer->producer("test");
    for (std::int64_t number = 1; number <= 100; ++number) {
      producer.push(CounterSample{.t_ns = number, .series = 1, .value = 1});
    }
  }
  writer->close(0);
  Reader reader = open_reader();
  std::size_t seen = 0;
  EXPECT_TRUE(reader.each_in<CounterSample>({{1, 50}, {60, 100}},
                                            [&](const CounterSample&) { return ++seen < 10; }));
  EXPECT_EQ(seen, 10U);
}

TEST_F(RecordReader, HoldsStillWhileTheRecordGrows) {
  auto writer = open_writer();
  Producer producer = writer->producer("test");
  producer.push(CounterSample{.t_ns = 1, .series = 1, .value = 1});
  wait_for_rows(*writer, 1);
  Reader reader = open_reader();
  {
    const Result<Snapshot> still = reader.snapshot();
    ASSERT_TRUE(still);
    EXPECT_EQ(reader.count<CounterSample>(), 1);
    producer.push(CounterSample{.t_ns = 2, .series = 1, .value = 1});
    wait_for_rows(*writer, 2);
    EXPECT_EQ(reader.count<CounterSample>(), 1);
  }
  EXPECT_EQ(reader.count<CounterSample>(), 2);
}

TEST_F(RecordReader, TellsForeignFilesFromNewerOnes) {
  fs::create_directories(folder());
  std::ofstream(file()) << "this is not a database, it is a text of some length\n";
  EXPECT_EQ(error().kind, ErrorKind::Malformed);
  EXPECT_THAT(describe(error()), HasSubstr("not a run record"));

  fs::remove(file());
  ASSERT_TRUE(Database::open(file(), Access::Write)->run("CREATE TABLE bookmarks(url)"));
  EXPECT_THAT(describe(error()), HasSubstr("not of chokepoint"));

  fs::remove(file());
  write_samples(1);
  ASSERT_TRUE(Database::open(file(), Access::Write)->run("PRAGMA user_version=99"));
  EXPECT_EQ(error().kind, ErrorKind::Newer);
  EXPECT_THAT(describe(error()), HasSubstr("schema 99"));
  EXPECT_EQ(open_error(options()).kind, ErrorKind::Newer);
}

TEST_F(RecordReader, SaysWhenThereIsNothingYet) {
  fs::create_directories(folder());
  std::ofstream(file()).close();
  EXPECT_THAT(describe(error()), HasSubstr("empty"));
}

TEST_F(RecordReader, ARunKeepsTheGoodBesideTheBad) {
  write_samples(1);
  WriterOptions second = options();
  second.node = "n0";
  open_writer(second)->close();
  std::ofstream(folder() / "zz.db") << "nonsense";
  std::ofstream(folder() / "notes.txt") << "not looked at";
  auto run = open_run(folder());
  ASSERT_TRUE(run) << describe(run.error());
  ASSERT_EQ(run->nodes.size(), 2U);
  EXPECT_EQ(run->nodes[0].node(), "n0");
  EXPECT_EQ(run->nodes[1].node(), "n1");
  ASSERT_EQ(run->unreadable.size(), 1U);
  EXPECT_THAT(run->unreadable[0].subject, HasSubstr("zz.db"));
}

TEST_F(RecordReader, ARunWithoutRecordsIsAnErrorWithANextStep) {
  EXPECT_EQ(open_run(folder()).error().kind, ErrorKind::NotFound);
  fs::create_directories(folder());
  EXPECT_THAT(describe(open_run(folder()).error()), HasSubstr("--out"));
}

}  // namespace
}  // namespace chokepoint::record
