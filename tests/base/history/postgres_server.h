// A server of PostgreSQL for tests, in a temporary folder, on a Unix socket alone. Not run by root,
// which it refuses: by nobody, where this process is root.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/sys/process.h"
#include "base/sys/temporary_folder.h"

namespace chokepoint::history {

class PostgresServer {
 public:
  // One for all tests of this process; null where the server's programs are missing.
  static PostgresServer* shared();
  // One of its own. Without `is_durable` it survives a kill, but no loss of power.
  static std::unique_ptr<PostgresServer> make(bool is_durable = false);
  ~PostgresServer();

  // Of an empty database of that name, made here where it is missing.
  std::string url(const std::string& database, const std::string& user = "owner");
  // SQL by its owner; what goes wrong is a failure of the test.
  void run(const std::string& database, const std::string& sql);
  // By SIGKILL; start() afterwards recovers what it had acknowledged.
  void kill();
  void start();

 private:
  PostgresServer(sys::TemporaryFolder folder, std::filesystem::path programs)
      : folder_(std::move(folder)), programs_(std::move(programs)) {}
  std::string plain_url(const std::string& database, const std::string& user) const;
  bool answers() const;

  sys::TemporaryFolder folder_;
  std::filesystem::path programs_;
  std::optional<sys::Process> process_;
  bool is_durable_ = false;
};

}  // namespace chokepoint::history
