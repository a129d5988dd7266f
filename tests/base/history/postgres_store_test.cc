#include "base/history/postgres_store.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/history/place.h"
#include "base/history/spooling_store.h"
#include "tests/base/history/history_rows.h"
#include "tests/base/history/postgres_server.h"

namespace chokepoint::history {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Postgres : public testing::Test {
 protected:
  void SetUp() override {
    if (PostgresServer::shared() == nullptr) {
      GTEST_SKIP() << "no server of PostgreSQL is installed";
    }
    name_ = std::string("own-") + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  std::string url(const std::string& user = "owner") const {
    return PostgresServer::shared()->url(name_, user);
  }
  std::unique_ptr<PostgresStore> open(const std::string& user = "owner") const {
    auto store = PostgresStore::open(url(user));
    EXPECT_TRUE(store) << describe(store.error());
    return *std::move(store);
  }
  void run(const std::string& sql) const { PostgresServer::shared()->run(name_, sql); }
  // The first column of all rows.
  std::vector<std::string> texts(const char* sql) const {
    std::vector<std::string> all;
    auto connection = PostgresConnection::connect(url(), net::Deadline::of(seconds(5)));
    EXPECT_TRUE(connection->run(sql, {}, seconds(5),
                                [&](const PostgresRow& row) { row.read(0, all.emplace_back()); }));
    return all;
  }

  std::string name_;
};

std::string file_in_packaging(const std::string& name) {
  std::ifstream file(std::string(CHOKEPOINT_POSTGRESQL) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::int64_t minutes_now() {
  return std::chrono::floor<std::chrono::minutes>(std::chrono::system_clock::now())
      .time_since_epoch()
      .count();
}

constexpr std::int64_t kMinutesADay = 1440;

TEST_F(Postgres, RowsLieByMonth) {
  const auto store = open();
  const std::int64_t now = minutes_now();
  const std::int64_t later = now + 100 * kMinutesADay;
  ASSERT_EQ(store->add({.rows = {row("m", 1, 1), row("m", now, 2), row("m", later, 3)}}), 3);
  const char* places =
      "SELECT DISTINCT tableoid::regclass::text FROM chokepoint.measured ORDER BY 1";
  const std::string month =
      texts("SELECT 'chokepoint.measured_' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')")[0];
  EXPECT_THAT(texts(places), ElementsAre(month, "chokepoint.measured_other"));

  // The far month comes: its row moves, and stays one.
  run(
      fmt::format("SELECT chokepoint.make_month(date_trunc('month', to_timestamp({}) AT TIME ZONE "
                  "'UTC'))",
                  later * 60));
  EXPECT_THAT(texts(places), SizeIs(3));
  EXPECT_EQ(store->add({.rows = {row("m", later, 3)}}), 0);
  EXPECT_THAT((*store->read({.since_ns = now * kMinute})).front().points, SizeIs(2));

  // Whole months go as such.
  EXPECT_EQ(store->prune((now + 40 * kMinutesADay) * kMinute), 2);
  EXPECT_THAT(texts("SELECT relname::text FROM pg_class WHERE relname = 'measured_'"
                    " || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')"),
              SizeIs(0));
}

TEST_F(Postgres, AccountsMayNoMoreThanTheirRole) {
  open();
  run(file_in_packaging("roles.sql"));
  run("CREATE ROLE node1 LOGIN IN ROLE chokepoint_node;"
      "CREATE ROLE reader1 LOGIN IN ROLE chokepoint_reader;"
      "CREATE ROLE stranger LOGIN");
  const auto node = open("node1");
  ASSERT_EQ(
      node->add({.rows = {row("m", 1, 1), row("m", minutes_now(), 1)}, .hosts = {state(1, "550")}}),
      2);
  EXPECT_EQ(node->read({}).error().kind, ErrorKind::Permission);
  EXPECT_EQ(node->states().error().kind, ErrorKind::Permission);
  EXPECT_EQ(node->prune(1).error().kind, ErrorKind::Permission);

  const auto reader = *PostgresStore::open_to_read(url("reader1"));
  EXPECT_THAT(*reader->read({}), SizeIs(1));
  EXPECT_THAT(*reader->states(), SizeIs(1));
  EXPECT_EQ(reader->add({.rows = {row("m", 2, 1)}}).error().kind, ErrorKind::Permission);
  EXPECT_EQ(reader->prune(1).error().kind, ErrorKind::Permission);
  EXPECT_EQ(PostgresStore::open(url("stranger")).error().kind, ErrorKind::Permission);

  for (const char* user : {"node1", "reader1"}) {
    auto direct = PostgresConnection::connect(url(user), net::Deadline::of(seconds(5)));
    for (const char* sql :
         {"DELETE FROM chokepoint.measured", "INSERT INTO chokepoint.version VALUES (2)",
          "UPDATE chokepoint.state SET host = 'x'", "TRUNCATE chokepoint.series",
          "SELECT chokepoint.make_month('2020-01-01')", "CREATE TABLE chokepoint.mine (x integer)",
          "DROP TABLE chokepoint.measured_other"}) {
      const auto done = direct->run(sql, {}, seconds(5));
      ASSERT_FALSE(done) << user << ": " << sql;
      EXPECT_EQ(done.error().kind, ErrorKind::Permission) << user << ": " << sql;
    }
  }
  run("DROP OWNED BY node1, reader1, stranger; DROP ROLE node1, reader1, stranger");
}

TEST_F(Postgres, AnAccountThatMayMakeNoSchemaIsAnError) {
  url();
  run("CREATE ROLE modest LOGIN");
  const auto refused = PostgresStore::open(url("modest"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Permission);
  EXPECT_THAT(describe(refused.error()), HasSubstr("schema.sql"));
  EXPECT_EQ(PostgresStore::open_to_read(url("modest")).error().kind, ErrorKind::NotFound);
  run("DROP ROLE modest");
}

// Several programs may find an empty database at once, and begin a month at once.
TEST_F(Postgres, SchemaAndMonthAreMadeOnce) {
  const std::string place = url();
  constexpr int kPrograms = 4;
  for (int at = 0; at < kPrograms; ++at) {
    if (fork() == 0) {
      const auto store = PostgresStore::open(place);
      _exit(store && (*store)->add({.rows = {row("m", minutes_now() - at, 1)}}) == 1 ? 0 : 1);
    }
  }
  for (int at = 0; at < kPrograms; ++at) {
    int status = 0;
    wait(&status);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(texts("SELECT version::text FROM chokepoint.version"), ElementsAre("1"));
  EXPECT_THAT((*open()->read({})).front().points, SizeIs(kPrograms));
}

TEST_F(Postgres, NoMessageHoldsAPassword) {
  for (const char* place :
       {"postgresql://u:secret@/db?host=/nowhere", "postgresql://u:secret@[bad/db",
        "postgresql://u@/db?host=/nowhere&password=secret", "postgresql://u:se%cret@/db"}) {
    const auto refused = PostgresStore::open(place);
    ASSERT_FALSE(refused);
    EXPECT_THAT(describe(refused.error()), AllOf(Not(HasSubstr("secret")), Not(HasSubstr("cret"))));
  }
  EXPECT_EQ(PostgresStore::open("postgresql://u@[bad/db").error().kind, ErrorKind::Usage);
}

// Writers add rows of their own, each batch once or, after it was not acknowledged, by the spool.
class Writers {
 public:
  Writers(std::string url, std::filesystem::path folder)
      : url_(std::move(url)), folder_(std::move(folder)) {}

  void start(int count) {
    for (int writer = 0; writer < count; ++writer) {
      const pid_t child = fork();
      if (child == 0) {
        _exit(write(writer));
      }
      children_.push_back(child);
    }
  }
  void finish() {
    std::ofstream(folder_ / "stop") << "";
    for (const pid_t child : children_) {
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
  // The rows that were acknowledged: by the server, or by the spool.
  std::set<std::int64_t> acknowledged() const {
    std::set<std::int64_t> all;
    for (std::size_t writer = 0; writer < children_.size(); ++writer) {
      std::ifstream file(folder_ / std::to_string(writer));
      for (std::int64_t minute = 0; file >> minute;) {
        all.insert(minute);
      }
    }
    return all;
  }
  std::unique_ptr<Store> store() const {
    return std::make_unique<SpoolingStore>(
        [place = url_]() -> Result<std::unique_ptr<Store>> {
          TRY(auto opened, PostgresStore::open(place));
          return std::unique_ptr<Store>(std::move(opened));
        },
        SpoolingStore::Spooling{
            .target = "server", .file = folder_ / "spool.db", .most_handing_over = seconds(30)});
  }

 private:
  int write(int writer) const {
    std::ofstream file(folder_ / std::to_string(writer));
    std::error_code ignored;
    for (std::int64_t at = 1; !std::filesystem::exists(folder_ / "stop", ignored); ++at) {
      const std::int64_t minute = writer * 1'000'000 + at;
      const auto added = store()->add({.rows = {row("m", minute, 1), row("n", minute, 1)}});
      if (!added && !describe(added.error()).contains("; kept in ")) {
        return 1;
      }
      file << minute << std::endl;
    }
    return 0;
  }

  std::string url_;
  std::filesystem::path folder_;
  std::vector<pid_t> children_;
};

TEST(PostgresKilled, NothingAcknowledgedIsLostOrDoubled) {
  const auto server = PostgresServer::make();
  if (!server) {
    GTEST_SKIP() << "no server of PostgreSQL is installed";
  }
  const auto folder = *sys::TemporaryFolder::make("killed");
  const std::string place = server->url("history");
  ASSERT_TRUE(PostgresStore::open(place));
  Writers writers(place, folder.path());
  writers.start(3);
  for (int at = 0; at < 2; ++at) {
    std::this_thread::sleep_for(seconds(1));
    server->kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    server->start();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  writers.finish();

  const auto store = writers.store();
  ASSERT_TRUE(store->add({.rows = {row("m", 0, 1)}}));
  EXPECT_FALSE(*Spool::open(folder.path() / "spool.db")->next("server", 0));
  const std::set<std::int64_t> acknowledged = writers.acknowledged();
  EXPECT_GT(acknowledged.size(), 10U);
  const auto all = *store->read({});
  for (const MeasuredSeries& series : all) {
    std::set<std::int64_t> found;
    for (const Measured& point : series.points) {
      EXPECT_TRUE(found.insert(point.wall_ns / kMinute).second) << point.wall_ns;
    }
    EXPECT_TRUE(std::ranges::includes(found, acknowledged)) << series.series.metric;
  }
}

// Takes connections, and never answers.
class SilentServer {
 public:
  SilentServer() : socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = folder_.path() / ".s.PGSQL.5432";
    path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_.get(), 4), 0);
  }
  std::string url() const { return "postgresql://u:secret@/db?host=" + folder_.path().string(); }

 private:
  sys::TemporaryFolder folder_ = *sys::TemporaryFolder::make("silent");
  sys::Descriptor socket_;
};

TEST(PostgresSilent, ACommandWaitsAMomentAndKeepsItsRows) {
  if (!libpq::open()) {
    GTEST_SKIP() << "libpq is not installed";
  }
  const SilentServer server;
  const auto folder = *sys::TemporaryFolder::make("remember");
  std::ostringstream out;
  std::ostringstream err;
  const sys::SystemClock clock;
  const cli::Context context{
      .out = out,
      .err = err,
      .clock = clock,
      .root = sys::Root("/"),
      .environment =
          [&](const std::string& name) {
            return name == "XDG_STATE_HOME" ? std::optional(folder.path().string()) : std::nullopt;
          },
      .out_terminal = {},
      .err_terminal = {}};
  const auto before = steady_clock::now();
  remember({.place = server.url()}, {.rows = {row("m", 1, 1)}}, context);
  EXPECT_LT(steady_clock::now() - before, seconds(4));
  EXPECT_THAT(err.str(), AllOf(HasSubstr("spool.db"), Not(HasSubstr("secret"))));
  const auto file = folder.path() / "chokepoint" / "spool.db";
  EXPECT_TRUE(*Spool::open(file)->next(
      "postgresql://u:***@/db?host=" + server.url().substr(server.url().find('=') + 1), 0));
}

}  // namespace
}  // namespace chokepoint::history
