#include "tests/base/history/postgres_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "base/history/postgres_connection.h"

namespace chokepoint::history {
namespace {

using std::chrono::seconds;

constexpr seconds kMostStarting{120};
constexpr uid_t kNobody = 65534;

// Debian keeps them out of PATH, one folder a version.
std::filesystem::path programs_of_server() {
  std::error_code ignored;
  std::vector<std::filesystem::path> found;
  for (const auto& each : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
    found.push_back(each.path() / "bin");
  }
  found.emplace_back("/usr/bin");
  std::ranges::sort(found);
  for (const std::filesystem::path& folder : found) {
    if (std::filesystem::exists(folder / "initdb", ignored) &&
        std::filesystem::exists(folder / "postgres", ignored)) {
      return folder;
    }
  }
  return {};
}

std::vector<std::string> as_nobody(std::vector<std::string> command) {
  if (geteuid() == 0) {
    const auto id = std::to_string(kNobody);
    command.insert(command.begin(),
                   {"setpriv", "--reuid=" + id, "--regid=" + id, "--clear-groups"});
  }
  return command;
}

}  // namespace

PostgresServer* PostgresServer::shared() {
  static const std::unique_ptr<PostgresServer> server = make();
  return server.get();
}

std::unique_ptr<PostgresServer> PostgresServer::make(bool is_durable) {
  const std::filesystem::path programs = programs_of_server();
  if (programs.empty()) {
    return nullptr;
  }
  auto folder = *sys::TemporaryFolder::make("postgresql");
  if (geteuid() == 0 && chown(folder.path().c_str(), kNobody, kNobody) != 0) {
    return nullptr;
  }
  const std::string data = folder.path() / "data";
  const auto made = sys::capture_output(
      {.command = as_nobody({programs / "initdb", "-D", data, "-U", "owner", "-A", "trust", "-E",
                             "UTF8", "--locale=C", "--no-sync", "--no-instructions"}),
       .folder = folder.path()},
      kMostStarting, 1 << 20);
  if (!made || made->status.code != 0) {
    ADD_FAILURE() << "initdb: " << (made ? made->err : describe(made.error()));
    return nullptr;
  }
  std::unique_ptr<PostgresServer> server(new PostgresServer(std::move(folder), programs));
  server->is_durable_ = is_durable;
  server->start();
  return server;
}

PostgresServer::~PostgresServer() { kill(); }

void PostgresServer::kill() {
  if (process_) {
    EXPECT_TRUE(process_->signal(SIGKILL));
    EXPECT_TRUE(process_->wait());
    process_.reset();
  }
}

// While processes of the killed one still end, a new one refuses to start.
void PostgresServer::start() {
  const sys::Descriptor log(
      ::open((folder_.path() / "log").c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600));
  const auto until = std::chrono::steady_clock::now() + kMostStarting;
  while (std::chrono::steady_clock::now() < until) {
    if (!process_ || *process_->poll()) {
      process_ = *sys::Process::start(
          {.command = as_nobody({programs_ / "postgres", "-D", folder_.path() / "data", "-k",
                                 folder_.path(), "-c", "listen_addresses=", "-c",
                                 is_durable_ ? "fsync=on" : "fsync=off"}),
           .folder = folder_.path(),
           .out = log.get(),
           .err = log.get()});
    }
    if (answers()) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  ADD_FAILURE() << "the server does not answer";
}

bool PostgresServer::answers() const {
  return PostgresConnection::connect(plain_url("postgres", "owner"), net::Deadline::of(seconds(2)))
      .has_value();
}

std::string PostgresServer::plain_url(const std::string& database, const std::string& user) const {
  return fmt::format("postgresql:///{}?host={}&user={}", database, folder_.path().string(), user);
}

std::string PostgresServer::url(const std::string& database, const std::string& user) {
  auto connection =
      PostgresConnection::connect(plain_url("postgres", "owner"), net::Deadline::of(seconds(10)));
  EXPECT_TRUE(connection) << describe(connection.error());
  bool is_there = false;
  EXPECT_TRUE(connection->run("SELECT FROM pg_database WHERE datname = $1", {database}, seconds(10),
                              [&](const PostgresRow&) { is_there = true; }));
  if (!is_there) {
    EXPECT_TRUE(connection->run_script("CREATE DATABASE \"" + database + "\"", seconds(60)));
  }
  return plain_url(database, user);
}

void PostgresServer::run(const std::string& database, const std::string& sql) {
  auto connection =
      PostgresConnection::connect(plain_url(database, "owner"), net::Deadline::of(seconds(10)));
  ASSERT_TRUE(connection) << describe(connection.error());
  const auto done = connection->run_script(sql, seconds(60));
  EXPECT_TRUE(done) << describe(done.error());
}

}  // namespace chokepoint::history
