// What every store of a history does alike.
#include "base/history/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/history/postgres_store.h"
#include "base/history/sqlite_store.h"
#include "base/sys/temporary_folder.h"
#include "tests/base/history/history_rows.h"
#include "tests/base/history/postgres_server.h"

namespace chokepoint::history {
namespace {

using testing::_;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

// Where a store of each kind is.
class Place {
 public:
  Place() = default;
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  virtual ~Place() = default;
  virtual Result<std::unique_ptr<Store>> open() = 0;
  virtual Result<std::unique_ptr<Store>> open_to_read() = 0;
  virtual void make_newer() = 0;
};

template <class T>
Result<std::unique_ptr<Store>> as_store(Result<std::unique_ptr<T>> opened) {
  if (!opened) {
    return fail(std::move(opened).error());
  }
  return std::unique_ptr<Store>(*std::move(opened));
}

class SqlitePlace final : public Place {
 public:
  Result<std::unique_ptr<Store>> open() override { return as_store(SqliteStore::open(file())); }
  Result<std::unique_ptr<Store>> open_to_read() override {
    return as_store(SqliteStore::open_to_read(file()));
  }
  void make_newer() override {
    auto database = record::Database::open(file(), record::Access::Write);
    ASSERT_TRUE(database->run("PRAGMA user_version = 99"));
  }

 private:
  std::filesystem::path file() const { return folder_.path() / "deep" / "history.db"; }

  sys::TemporaryFolder folder_ = *sys::TemporaryFolder::make("history");
};

class PostgresPlace final : public Place {
 public:
  Result<std::unique_ptr<Store>> open() override { return as_store(PostgresStore::open(url_)); }
  Result<std::unique_ptr<Store>> open_to_read() override {
    return as_store(PostgresStore::open_to_read(url_));
  }
  void make_newer() override {
    PostgresServer::shared()->run(name_, "UPDATE chokepoint.version SET version = 99");
  }

 private:
  std::string name_ =
      std::string("shared-") + testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string url_ = PostgresServer::shared()->url(name_);
};

class History : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "sqlite") {
      place_ = std::make_unique<SqlitePlace>();
    } else if (PostgresServer::shared() != nullptr) {
      place_ = std::make_unique<PostgresPlace>();
    } else {
      GTEST_SKIP() << "no server of PostgreSQL is installed";
    }
  }
  std::unique_ptr<Store> open() {
    auto store = place_->open();
    EXPECT_TRUE(store) << describe(store.error());
    return *std::move(store);
  }

  std::unique_ptr<Place> place_;
};

TEST_P(History, WhatIsAddedTwiceIsThereOnce) {
  const auto store = open();
  const Batch batch{.rows = {row("throughput_mbps", 2, 940), row("throughput_mbps", 1, 930)},
                    .hosts = {state(1, "550")}};
  EXPECT_EQ(store->add(batch), 2);
  EXPECT_EQ(store->add(batch), 0);
  const auto series = *store->read({});
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(text_of(series.front().series.subject), "a > b");
  EXPECT_EQ(series.front().series.better, documents::Better::More);
  ASSERT_THAT(series.front().points, SizeIs(2));
  EXPECT_EQ(series.front().points.front().value, 930);
  EXPECT_EQ(series.front().points.front().source, "tcp.json");
  EXPECT_FALSE(series.front().points.front().spread);
  EXPECT_THAT(*store->states(), SizeIs(1));
}

TEST_P(History, ReadsWhatIsWanted) {
  const auto store = open();
  Row of_host = row("throughput_mbps", 3, 1);
  of_host.series.subject = {.kind = SubjectKind::Nic, .host = "a", .name = "eth0"};
  ASSERT_TRUE(store->add({.rows = {row("throughput_mbps", 1, 940), row("rtt_ms", 2, 1), of_host}}));
  EXPECT_THAT(*store->read({.subject = "a"}), SizeIs(3));
  EXPECT_THAT(*store->read({.subject = "a > b"}), SizeIs(2));
  EXPECT_THAT(*store->read({.metric = "rtt_ms"}), SizeIs(1));
  EXPECT_THAT(*store->read({.since_ns = 3 * kMinute}), SizeIs(1));
  EXPECT_THAT(*store->read({.subject = "b"}), IsEmpty());
}

TEST_P(History, ReadsTheNewestRowsBefore) {
  const auto store = open();
  Batch batch;
  for (int minute = 1; minute <= 8; ++minute) {
    batch.rows.push_back(row("throughput_mbps", minute, minute));
  }
  batch.rows.push_back(row("rtt_ms", 1, 1));
  batch.rows.push_back(row("rtt_ms", 7, 7));
  ASSERT_TRUE(store->add(batch));
  const auto values = [&](const Wanted& wanted) {
    std::map<std::string, std::vector<double>> found;
    const auto read = *store->read(wanted);
    for (const MeasuredSeries& series : read) {
      for (const Measured& point : series.points) {
        found[series.series.metric].push_back(point.value);
      }
    }
    return found;
  };
  const Wanted wanted{.since_ns = 6 * kMinute, .before = {.since_ns = 2 * kMinute, .most = 3}};
  EXPECT_THAT(values(wanted), ElementsAre(Pair("rtt_ms", ElementsAre(7)),
                                          Pair("throughput_mbps", ElementsAre(3, 4, 5, 6, 7, 8))));
  // None older than asked for, however few there are.
  EXPECT_THAT(values({.metric = "throughput_mbps",
                      .since_ns = 6 * kMinute,
                      .before = {.since_ns = 5 * kMinute, .most = 3}}),
              ElementsAre(Pair("throughput_mbps", ElementsAre(5, 6, 7, 8))));
}

TEST_P(History, AStateLastsAsLongAsItIsSeen) {
  const auto store = open();
  // In the order of nothing: documents are added when somebody finds them.
  for (const auto& [minute, driver] :
       {std::pair{5, "550"}, {9, "570"}, {1, "550"}, {7, "550"}, {8, "570"}}) {
    ASSERT_TRUE(store->add({.hosts = {state(minute, driver)}}));
  }
  std::vector<std::tuple<std::int64_t, std::int64_t, std::string>> spans;
  const auto found = *store->states();
  for (const StateSpan& span : found) {
    spans.emplace_back(span.first_ns / kMinute, span.last_ns / kMinute,
                       span.settings->at("gpu").at("driver"));
  }
  EXPECT_THAT(spans, ElementsAre(std::tuple{1, 7, "550"}, std::tuple{8, 9, "570"}));
}

TEST_P(History, PruningLeavesNoNames) {
  const auto store = open();
  ASSERT_TRUE(store->add({.rows = {row("throughput_mbps", 1, 940), row("rtt_ms", 9, 1)},
                          .hosts = {state(1, "550"), state(9, "570")}}));
  EXPECT_EQ(store->prune(5 * kMinute), 1);
  EXPECT_THAT(*store->read({}), SizeIs(1));
  EXPECT_THAT(*store->states(), SizeIs(1));
  EXPECT_THAT(*(*place_->open_to_read())->read({}), SizeIs(1));
}

TEST_P(History, ThinningKeepsARowOfEachDay) {
  const auto store = open();
  constexpr int kDay = 24 * 60;
  Batch batch;
  for (const int day : {1, 2, 4}) {
    for (int hour = 0; hour < 24; hour += 6) {
      batch.rows.push_back(row("throughput_mbps", day * kDay + hour * 60, day));
    }
  }
  batch.rows.push_back(row("rtt_ms", kDay, 8));
  ASSERT_EQ(store->add(batch), 13);
  const auto points = [&] {
    std::vector<std::pair<std::int64_t, double>> all;
    const auto read = *store->read({});
    for (const MeasuredSeries& series : read) {
      for (const Measured& point : series.points) {
        all.emplace_back(point.wall_ns, point.value);
      }
    }
    return all;
  };
  // Of the day on which the limit lies nothing is removed.
  EXPECT_EQ(store->thin((4 * kDay + 1000) * kMinute), 6);
  const auto thinned = points();
  EXPECT_THAT(thinned, ElementsAre(Pair(_, 8), Pair(_, 1), Pair(_, 2), Pair(_, 4), Pair(_, 4),
                                   Pair(_, 4), Pair(_, 4)));
  EXPECT_EQ(store->thin((4 * kDay + 1000) * kMinute), 0);
  // What was removed may be added again, and goes again.
  EXPECT_EQ(store->add(batch), 6);
  EXPECT_EQ(store->thin((4 * kDay + 1000) * kMinute), 6);
  EXPECT_EQ(points(), thinned);
}

TEST_P(History, AHostileTextIsATextAndNoMore) {
  const auto store = open();
  Row hostile = row("x'); DROP TABLE row; --", 1, 1);
  hostile.series.subject.host = std::string("\x1b[2J\0 %s", 8) + std::string(1 << 20, 'x');
  hostile.measured.source = "'";
  ASSERT_TRUE(store->add({.rows = {hostile, row("throughput_mbps", 1, NAN)}}));
  const auto series = *store->read({});
  ASSERT_THAT(series, SizeIs(1));
  EXPECT_EQ(series.front().series.metric, "x'); DROP TABLE row; --");
  EXPECT_LT(series.front().series.subject.host.size(), 5000U);
}

TEST_P(History, ANewerOneIsLeftAlone) {
  open();
  place_->make_newer();
  for (const bool is_reader : {false, true}) {
    const auto refused = is_reader ? place_->open_to_read() : place_->open();
    ASSERT_FALSE(refused);
    EXPECT_THAT(describe(refused.error()), testing::HasSubstr("newer chokepoint"));
  }
}

// Each batch is there whole or not at all, and each that was said to be added is.
TEST_P(History, AWriterThatIsKilledLosesNothingThatItAdded) {
  open();
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto store = *place_->open();
    for (std::int64_t minute = 1;; ++minute) {
      const Batch batch{.rows = {row("one", minute, 1), row("other", minute, 1)}};
      if (!store->add(batch) || write(told[1], "x", 1) != 1) {
        _exit(1);
      }
    }
  }
  char byte = 0;
  std::size_t added = 0;
  while (added < 20 && read(told[0], &byte, 1) == 1) {
    ++added;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(told[1]);
  while (read(told[0], &byte, 1) == 1) {
    ++added;
  }
  close(told[0]);
  const auto store = open();
  const auto series = *store->read({});
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(series[0].points.size(), series[1].points.size());
  EXPECT_GE(series[0].points.size(), added);
  EXPECT_EQ(store->add({.rows = {row("one", 0, 1)}}), 1);
}

TEST_P(History, SeveralProcessesWriteAtOnce) {
  open();
  constexpr std::int64_t kWriters = 4;
  constexpr std::int64_t kEach = 25;
  for (std::int64_t writer = 0; writer < kWriters; ++writer) {
    if (fork() == 0) {
      const auto store = *place_->open();
      bool is_well = true;
      for (std::int64_t at = 0; at < kEach; ++at) {
        is_well = is_well && store->add({.rows = {row("m", writer * kEach + at, 1)}}).has_value();
      }
      _exit(is_well ? 0 : 1);
    }
  }
  for (std::int64_t writer = 0; writer < kWriters; ++writer) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT((*open()->read({})).front().points, SizeIs(kWriters * kEach));
}

// A text that is none in UTF-8 is no reason to lose a row.
TEST_P(History, BytesThatAreNoTextAreReplaced) {
  const auto store = open();
  Row odd = row("m", 1, 1);
  odd.series.subject.host = "a\xff";
  odd.measured.source = "\xc3";
  const Batch batch{.rows = {odd}, .hosts = {state(1, "\xfe")}};
  EXPECT_EQ(store->add(batch), 1);
  EXPECT_EQ(store->add(batch), 0);
  EXPECT_THAT(*store->read({}), SizeIs(1));
  EXPECT_THAT(*store->states(), SizeIs(1));
}

TEST_P(History, SpreadsAndCountsComeBack) {
  const auto store = open();
  Row several = row("m", 1, -0.1);
  several.measured.spread = 1e-300;
  several.measured.count = 5;
  several.measured.program = "chokepoint 0.1.0";
  ASSERT_TRUE(store->add({.rows = {several}}));
  const auto series = *store->read({.subject = "a > b", .metric = "m"});
  ASSERT_THAT(series, SizeIs(1));
  const Measured& point = series.front().points.front();
  EXPECT_EQ(point.wall_ns, kMinute);
  EXPECT_EQ(point.value, -0.1);
  EXPECT_EQ(point.spread, 1e-300);
  EXPECT_EQ(point.count, 5);
  EXPECT_EQ(point.program, "chokepoint 0.1.0");
}

TEST(HistoryAbroad, NoFileIsAnErrorForReaders) {
  const auto missing = SqliteStore::open_to_read("/nowhere/history.db");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
}

TEST(HistoryAbroad, AnotherProgramsFileIsLeftAlone) {
  const auto folder = *sys::TemporaryFolder::make("history");
  const std::filesystem::path file = folder.path() / "other.db";
  auto database = record::Database::open(file, record::Access::Write);
  ASSERT_TRUE(database->run("CREATE TABLE theirs (a)"));
  ASSERT_FALSE(SqliteStore::open(file));
  ASSERT_FALSE(SqliteStore::open_to_read(file));
  EXPECT_EQ(database->number("SELECT count(*) FROM sqlite_master"), 1);
}

// A file that may not grow is what a full disk looks like to it.
TEST(HistoryAbroad, WhereTheDiskIsFullWhatWasAddedStays) {
  constexpr rlim_t kMaxBytes = 64 * 1024;
  const auto folder = *sys::TemporaryFolder::make("history");
  const std::filesystem::path file = folder.path() / "history.db";
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  if (fork() == 0) {
    const rlimit full{.rlim_cur = kMaxBytes, .rlim_max = kMaxBytes};
    setrlimit(RLIMIT_FSIZE, &full);
    signal(SIGXFSZ, SIG_IGN);
    const auto store = *SqliteStore::open(file);
    std::int64_t added = 0;
    while (store->add({.rows = {row("one", added, 1), row("other", added, 1)}})) {
      ++added;
    }
    _exit(write(told[1], &added, sizeof added) == sizeof added ? 0 : 1);
  }
  std::int64_t added = 0;
  ASSERT_EQ(read(told[0], &added, sizeof added), static_cast<ssize_t>(sizeof added));
  wait(nullptr);
  EXPECT_GT(added, 10);
  const auto series = *(*SqliteStore::open_to_read(file))->read({});
  ASSERT_THAT(series, SizeIs(2));
  EXPECT_EQ(std::ssize(series[0].points), added);
  EXPECT_EQ(std::ssize(series[1].points), added);
  EXPECT_EQ((*SqliteStore::open(file))->add({.rows = {row("one", added, 1)}}), 1);
}

INSTANTIATE_TEST_SUITE_P(Stores, History, testing::Values("sqlite", "postgresql"),
                         [](const auto& which) { return which.param; });

}  // namespace
}  // namespace chokepoint::history
