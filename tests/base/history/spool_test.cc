#include "base/history/spool.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/history/batch_text.h"
#include "base/history/spooling_store.h"
#include "base/history/sqlite_store.h"
#include "base/sys/temporary_folder.h"
#include "tests/base/history/history_rows.h"

namespace chokepoint::history {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// A history in a file stands for the server.
class SpoolTest : public testing::Test {
 protected:
  SpoolingStore store(bool is_reached, const std::string& target = "server",
                      std::int64_t max_bytes = kMaxSpoolBytes) {
    const auto file = folder_.path() / (target + ".db");
    return {[=]() -> Result<std::unique_ptr<Store>> {
              if (!is_reached) {
                return fail(ErrorKind::Unreachable, "history", target, "is down", "start it");
              }
              TRY(auto opened, SqliteStore::open(file));
              return std::unique_ptr<Store>(std::move(opened));
            },
            {.target = target,
             .file = folder_.path() / "state" / "spool.db",
             .most_handing_over = std::chrono::minutes(1),
             .max_bytes = max_bytes}};
  }

  sys::TemporaryFolder folder_ = *sys::TemporaryFolder::make("spool");
};

TEST_F(SpoolTest, WhatDidNotReachTheServerIsAddedTheNextTime) {
  const Batch first{.rows = {row("m", 1, 10)}, .hosts = {state(1, "550")}};
  auto away = store(false);
  const auto kept = away.add(first);
  ASSERT_FALSE(kept);
  EXPECT_THAT(describe(kept.error()), HasSubstr("spool.db"));
  EXPECT_FALSE(away.add({.rows = {row("m", 2, 20)}}));

  auto back = store(true);
  EXPECT_EQ(back.add({.rows = {row("m", 3, 30)}}), 1);
  ASSERT_THAT(*back.read({}), SizeIs(1));
  EXPECT_THAT((*back.read({})).front().points, SizeIs(3));
  EXPECT_THAT(*back.states(), SizeIs(1));

  // Nothing waits any more: another server's history would get it.
  EXPECT_FALSE(*Spool::open(folder_.path() / "state" / "spool.db")->next("server", 0));
}

TEST_F(SpoolTest, AnotherServerGetsNoneOfIt) {
  EXPECT_FALSE(store(false, "one").add({.rows = {row("m", 1, 10)}}));
  auto other = store(true, "other");
  EXPECT_EQ(other.add({.rows = {row("m", 2, 20)}}), 1);
  EXPECT_THAT((*other.read({})).front().points, SizeIs(1));
  auto one = store(true, "one");
  EXPECT_EQ(one.add({.rows = {row("m", 2, 20)}}), 1);
  EXPECT_THAT((*one.read({})).front().points, SizeIs(2));
}

TEST_F(SpoolTest, ItsFileIsBounded) {
  constexpr std::int64_t kFewBytes = 256 << 10;
  auto away = store(false, "server", kFewBytes);
  Batch batch;
  for (int at = 0; at < 100; ++at) {
    batch.rows.push_back(row("m", at, at));
  }
  std::string last;
  for (int at = 0; at < 100; ++at) {
    last = describe(away.add(batch).error());
  }
  EXPECT_THAT(last, HasSubstr("not kept"));
  EXPECT_LE(std::filesystem::file_size(folder_.path() / "state" / "spool.db"),
            static_cast<std::uintmax_t>(kFewBytes));
}

TEST_F(SpoolTest, AMistakeOfTheUserIsNotKept) {
  SpoolingStore store(
      [] { return fail(ErrorKind::Usage, "history", "postgres://", "is no URL of a database"); },
      {.target = "server", .file = folder_.path() / "spool.db"});
  EXPECT_FALSE(store.add({.rows = {row("m", 1, 1)}}));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "spool.db"));
}

TEST(BatchText, ComesBackAsItWas) {
  Batch batch{.rows = {row("m", 1, -0.1), row("", 2, 1e300), row("nan", 3, NAN)},
              .hosts = {state(7, "550")}};
  batch.rows[0].measured.spread = 2;
  batch.rows[0].measured.program = "chokepoint";
  batch.rows[0].series.subject.name = "\xff";
  const Batch read = batch_in(text_of(batch));
  ASSERT_THAT(read.rows, SizeIs(2));
  EXPECT_EQ(read.rows[0].measured.value, -0.1);
  EXPECT_EQ(read.rows[0].measured.wall_ns, kMinute);
  EXPECT_EQ(read.rows[0].measured.spread, 2);
  EXPECT_EQ(read.rows[0].measured.source, "tcp.json");
  EXPECT_EQ(read.rows[0].measured.program, "chokepoint");
  EXPECT_EQ(read.rows[0].series.subject.name, "\xEF\xBF\xBD");
  EXPECT_TRUE(read.rows[1].series.is_same(batch.rows[1].series));
  EXPECT_EQ(read.rows[1].series.unit, "Mb/s");
  EXPECT_FALSE(read.rows[1].measured.spread);
  ASSERT_THAT(read.hosts, SizeIs(1));
  EXPECT_EQ(read.hosts[0].settings, batch.hosts[0].settings);
  EXPECT_EQ(read.hosts[0].wall_ns, batch.hosts[0].wall_ns);
}

TEST(BatchText, WhatMakesNoSenseIsLeftOut) {
  for (const char* text : {"", "[]", "{}", R"({"rows": 1, "hosts": [[]]})",
                           R"({"rows": [[], [1,2,3,4,5,6,7,8,9,10,11,12,13], null]})"}) {
    EXPECT_TRUE(batch_in(text).rows.empty()) << text;
  }
}

}  // namespace
}  // namespace chokepoint::history
