#include "base/record/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class RecordWriter : public RecordFolder {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }
};

TEST_F(RecordWriter, MakesTheFolderAndLeavesOneFile) {
  auto writer = open_writer();
  EXPECT_EQ(writer->path(), file());
  writer->close();
  EXPECT_THAT(files(), UnorderedElementsAre("n1.db"));
}

TEST_F(RecordWriter, SaysWhoAndWhere) {
  auto writer = open_writer();
  clock_.advance(2'000'000'000);
  writer->close(7);

  const Reader reader = open_reader();
  ASSERT_EQ(reader.sessions().size(), 1U);
  const Session& session = reader.sessions()[0];
  EXPECT_EQ(session.host, "alpha");
  EXPECT_EQ(session.kernel, "6.1.0");
  EXPECT_EQ(session.boot_id, "boot-1");
  EXPECT_EQ(session.node, "n1");
  EXPECT_EQ(session.command, "train '--big model'");
  EXPECT_EQ(session.exit_status, Figure(7));
  EXPECT_EQ(session.end_ns.value() - session.start_ns, 2'000'000'000);
  EXPECT_EQ(reader.wall_ns(session.end_ns.value()), clock_.wall_ns());
}

TEST_F(RecordWriter, NamesTheFileAfterTheHostUnlessToldOtherwise) {
  WriterOptions without_node = options();
  without_node.node.clear();
  EXPECT_EQ(open_writer(without_node)->path(), folder() / "alpha.db");
}

TEST_F(RecordWriter, AppendsASession) {
  open_writer()->close(0);
  clock_.advance(5'000'000'000);
  auto writer = open_writer();
  writer->add(Label{.key = "setup", .value = "2x2"});
  writer->close(1);

  Reader reader = open_reader();
  ASSERT_EQ(reader.sessions().size(), 2U);
  EXPECT_GT(reader.sessions()[1].start_ns, reader.sessions()[0].end_ns.value());
  EXPECT_EQ(reader.all<Label>()->at(0).session, reader.sessions()[1].id);
}

TEST_F(RecordWriter, TimesKeepRisingOverAReboot) {
  clock_.monotonic = 900'000'000'000;
  open_writer()->close();
  host_.write("/proc/sys/kernel/random/boot_id", "boot-2");
  clock_.advance(60'000'000'000);
  clock_.monotonic = 3'000'000'000;
  auto writer = open_writer();
  writer->producer("test").push(CounterSample{.t_ns = 4'000'000'000});
  writer->close();

  Reader reader = open_reader();
  const Session& session = reader.sessions().at(1);
  EXPECT_EQ(session.start_ns, 960'000'000'000);
  EXPECT_EQ(rows<CounterSample>(reader).at(0).t_ns, 961'000'000'000);
  EXPECT_EQ(reader.wall_ns(session.start_ns), clock_.wall_ns());
}

TEST_F(RecordWriter, TheSecondWriterIsTurnedAway) {
  auto writer = open_writer();
  const Error error = open_error(options());
  EXPECT_EQ(error.kind, ErrorKind::Busy);
  EXPECT_THAT(describe(error), AllOf(HasSubstr("n1.db"), HasSubstr("another process")));
  writer->close();
  writer.reset();
  EXPECT_TRUE(open_writer());
}

TEST_F(RecordWriter, ALockFileLeftByAKilledWriterMeansNothing) {
  std::filesystem::create_directories(folder());
  std::ofstream(file().string() + "-lock").close();
  open_writer()->close();
  EXPECT_THAT(files(), UnorderedElementsAre("n1.db"));
}

TEST_F(RecordWriter, WaitsForAReaderThatKeepsTheLogFromShrinking) {
  WriterOptions small = options();
  small.limits.max_log_bytes = 200'000;
  small.limits.retry_interval = std::chrono::milliseconds(50);
  auto writer = open_writer(small);
  auto reader = Database::open(file(), Access::Read);
  ASSERT_TRUE(reader->run("BEGIN;SELECT count(*) FROM session;"));
  {
    Producer producer = writer->producer("test");
    for (int left = 1000; left > 0 && !writer->status().trouble; --left) {
      for (std::int64_t count = 0; count < 1000; ++count) {
        producer.push(CounterSample{.t_ns = count, .series = 1});
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  ASSERT_TRUE(writer->status().trouble);
  EXPECT_THAT(describe(*writer->status().trouble), HasSubstr("a reader keeps the log"));
  reader->rollback();
  const WriterStatus status = writer->close();
  EXPECT_FALSE(status.trouble);
  EXPECT_EQ(status.dropped, 0U);
}

// A young session's rows are there soon; those of an old one would come in an hour.
TEST_F(RecordWriter, CommitsOftenerWhileItsSessionIsYoung) {
  WriterOptions seldom = options();
  seldom.limits.commit_interval = std::chrono::hours(1);
  seldom.limits.first_commit_interval = std::chrono::milliseconds(5);
  seldom.limits.young = std::chrono::hours(1);
  auto writer = open_writer(seldom);
  writer->add(Label{.key = "setup", .value = "2x2"});
  const auto has_come = [&] {
    Reader reader = open_reader();
    return !reader.all<Label>()->empty();
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!has_come() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(has_come());
}

TEST_F(RecordWriter, CountsWhatAFullQueueRefusesAndSaysSo) {
  WriterOptions small = options();
  small.limits.queue_bytes = 3072;
  auto writer = open_writer(small);
  std::uint64_t refused = 0;
  {
    Producer producer = writer->producer("burst");
    for (int count = 0; count < 100'000; ++count) {
      refused += producer.push(CounterSample{.t_ns = count, .series = 1}) ? 0 : 1;
    }
  }
  const WriterStatus status = writer->close();
  ASSERT_GT(refused, 0U);
  EXPECT_EQ(status.dropped, refused);
  ASSERT_EQ(status.losses.size(), 1U);
  EXPECT_EQ(status.losses[0].subject, "burst");
  EXPECT_EQ(status.losses[0].reason, "queue-full");

  Reader reader = open_reader();
  EXPECT_EQ(rows<CounterSample>(reader).size(), 100'000 - refused);
  const auto events = reader.all<Event>();
  ASSERT_EQ(events->size(), 1U);
  EXPECT_EQ(events->at(0).kind, "dropped");
  EXPECT_EQ(events->at(0).subject, "burst");
  EXPECT_THAT(events->at(0).detail, HasSubstr("\"rows\":" + std::to_string(refused)));
}

TEST_F(RecordWriter, BoundsTheRowsWithText) {
  WriterOptions small = options();
  small.limits.entity_bytes = 4096;
  auto writer = open_writer(small);
  std::uint64_t refused = 0;
  for (int count = 0; count < 1000; ++count) {
    refused += writer->add(Fact{.value = std::string(200, 'x')}) ? 0 : 1;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(writer->close().dropped, refused);
  Reader reader = open_reader();
  EXPECT_EQ(*reader.count<Fact>(), static_cast<std::int64_t>(1000 - refused));
}

TEST_F(RecordWriter, TakesRowsFromManyThreadsAtOnce) {
  auto writer = open_writer();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      Producer producer = writer->producer("thread");
      for (int count = 0; count < 5000; ++count) {
        producer.push(GaugeSample{.t_ns = count, .series = thread, .value = 1.5});
      }
      writer->add(Event{.t_ns = thread, .kind = "done"});
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(writer->close().dropped, 0U);
  Reader reader = open_reader();
  EXPECT_EQ(*reader.count<GaugeSample>(), 20'000);
  EXPECT_EQ(*reader.count<Event>(), 4);
}

TEST_F(RecordWriter, AProducerMayOutliveItsWriter) {
  auto writer = open_writer();
  Producer producer = writer->producer("late");
  writer.reset();
  producer.push(CounterSample{});
  EXPECT_EQ(*open_reader().count<CounterSample>(), 0);
}

TEST_F(RecordWriter, SaysWhatIsWrongWithThePlace) {
  std::ofstream(folder_.path() / "plain") << "x";
  WriterOptions wrong = options();
  wrong.folder = folder_.path() / "plain";
  EXPECT_THAT(describe(open_error(wrong)), HasSubstr("is a file, not a folder"));
  wrong.folder = folder_.path() / "plain" / "below";
  EXPECT_THAT(describe(open_error(wrong)), HasSubstr("not a directory"));
  wrong = options();
  for (const char* node : {"../up", ".hidden", "a/b"}) {
    wrong.node = node;
    EXPECT_EQ(open_error(wrong).kind, ErrorKind::Usage) << node;
  }
  wrong.node = "folder";
  std::filesystem::create_directories(folder() / "folder.db");
  EXPECT_THAT(describe(open_error(wrong)), HasSubstr("folder.db: is a folder"));
}

TEST_F(RecordWriter, LeavesForeignFilesAlone) {
  std::filesystem::create_directories(folder());
  std::ofstream(file()) << std::string(5000, 'x');
  EXPECT_EQ(open_error(options()).kind, ErrorKind::Malformed);
  std::ifstream still(file());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(still), {}), std::string(5000, 'x'));
}

}  // namespace
}  // namespace chokepoint::record
