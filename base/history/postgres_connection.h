// A connection to a server of PostgreSQL. No call waits longer than its deadline, also if the
// server, the network or a name server does not answer. Texts are sent as parameters, never as
// part of SQL. Errors are those of base/sys/error.h and contain no password.
//
// One thread at a time. After Timeout or Unreachable the connection must not be used again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/history/libpq.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"

namespace chokepoint::history {

// A row of an answer, while it is being taken. Columns count from 0.
class PostgresRow {
 public:
  PostgresRow(const libpq::Functions& functions, libpq::ConstAnswer answer, int row)
      : functions_(functions), answer_(answer), row_(row) {}

  // Of integers of any width and booleans.
  void read(int column, std::int64_t& value) const;
  void read(int column, double& value) const;  // NULL is NaN
  void read(int column, std::string& value) const;

 private:
  std::uint64_t bits(int column) const;

  const libpq::Functions& functions_;
  libpq::ConstAnswer answer_;
  int row_;
};

class PostgresConnection {
 public:
  using Values = std::vector<std::string>;
  using Take = std::function<void(const PostgresRow&)>;

  static Result<PostgresConnection> connect(const std::string& url, const net::Deadline& deadline);

  // `sql` has $1, $2 … for the values. `take` gets each row of the answer.
  Result<> run(const char* sql, const Values& values, std::chrono::milliseconds wait,
               const Take& take = {});
  // Several statements without values or rows.
  Result<> run_script(const std::string& sql, std::chrono::milliseconds wait);

  const std::string& name() const { return name_; }  // the URL without the password

 private:
  struct Finish {
    std::shared_ptr<const libpq::Functions> functions;
    void operator()(libpq::Connection connection) const { functions->finish(connection); }
  };
  using Handle = std::unique_ptr<struct libpq::OpaqueConnection, Finish>;

  PostgresConnection(std::shared_ptr<const libpq::Functions> functions, Handle handle,
                     std::string name)
      : functions_(std::move(functions)), handle_(std::move(handle)), name_(std::move(name)) {}

  Result<> finish_connecting(const net::Deadline& deadline);
  Result<> limit_statements(std::chrono::milliseconds wait);
  Result<> send(const char* sql, const Values& values);
  Result<> flush(const net::Deadline& deadline);
  Result<> take_answers(const net::Deadline& deadline, const Take& take);
  std::unexpected<Error> lost() const;
  Error error_of(libpq::ConstAnswer answer) const;

  std::shared_ptr<const libpq::Functions> functions_;
  Handle handle_;
  std::string name_;
  std::chrono::milliseconds limit_{};  // of a statement, as the server knows it
};

}  // namespace chokepoint::history
