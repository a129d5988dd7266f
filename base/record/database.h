// SQLite with owned handles and errors as values; nothing more. One connection belongs to one
// thread at a time. A Statement must not outlive its Database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/record/samples.h"
#include "base/sys/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace chokepoint::record {

class Statement {
 public:
  explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}

  // Parameters count from 1. Text is copied.
  void bind(int parameter, std::int64_t value);
  void bind(int parameter, double value);  // NaN is NULL
  void bind(int parameter, std::string_view value);
  void bind(int parameter, Figure value);
  template <class T>
    requires std::is_enum_v<T>
  void bind(int parameter, T value) {
    bind(parameter, static_cast<std::int64_t>(value));
  }

  // True while there is a row; then the columns, which count from 0, can be read.
  Result<bool> step();
  // Calls `take` at each row that is left.
  template <class F>
  Result<> each(F&& take) {
    while (true) {
      TRY(const bool is_row, step());
      if (!is_row) {
        return {};
      }
      take();
    }
  }
  // Runs to the end and makes ready for the next binding.
  Result<> run();
  void reset();

  void read(int column, std::int64_t& value) const;
  void read(int column, double& value) const;  // NULL is NaN
  void read(int column, std::string& value) const;
  void read(int column, Figure& value) const;
  template <class T>
    requires std::is_enum_v<T>
  void read(int column, T& value) const {
    std::int64_t number = 0;
    read(column, number);
    value = static_cast<T>(number);
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* handle) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

enum class Access {
  Write,      // made where missing
  Unlocked,   // as Write, where the file system has no locks; this process alone
  Read,       // beside a writer
  Immutable,  // nobody writes, and nothing may be written beside the file
};

class Database {
 public:
  static Result<Database> open(const std::filesystem::path& path, Access access);

  Result<> run(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  // The first column of the first row.
  Result<std::int64_t> number(const std::string& sql);
  // Undoes the transaction that is open, if one is.
  void rollback();

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace chokepoint::record
