// SQLite with owned handles and errors as values. One connection belongs to one thread at a time. A
// Statement must not outlive its Database.
//
// A record is untrusted. Connections that read follow https://sqlite.org/security.html: no
// SQL of the file's own schema is trusted, lengths are bounded, and so is the work: a statement
// gives no more rows, and takes no more steps between two of them, than a file of that size can
// hold. Pages may refer to each other in a way that makes billions of rows of a few pages; a valid
// file of any size is read whole, however slow the machine is. The size is that of the stored
// blocks, not the file's length: holes hold no rows.
//
// In a record's place, and beside it, there may be any kind of file. Every file that SQLite opens
// is opened by base/sys/regular_file.h: its VFS "unix" lets a program replace the system calls
// that it makes, and open() is replaced once for all connections of the process. A VFS around
// SQLite's own could only check a name before SQLite opens it, and the file could be replaced in
// between. unlink() is replaced, too, because a journal can name any file for SQLite to remove. A
// file that is found not to be regular is an Error that names it.
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

// A text or a row that is longer makes its reading fail.
constexpr int kMaxTextBytes = 64 << 20;

// What a connection may do before the file must be one that makes no sense. Lies still, because
// SQLite holds on to it.
class WorkBound {
 public:
  explicit WorkBound(std::filesystem::path file);

  // What is stored of the file and its log.
  std::int64_t bytes() const { return bytes_; }
  // A statement begins, or goes on from a row that it gave.
  void begin() { steps_ = 0; }
  // False where it is too much, also after the file's size has been looked at again.
  bool allows_rows(std::int64_t rows);
  bool allows_more_steps(std::int64_t steps);

 private:
  void measure_again();

  std::filesystem::path file_;
  std::int64_t bytes_ = 0;
  std::int64_t steps_ = 0;
};

class Statement {
 public:
  // Without a bound the work of its SQL is not limited.
  explicit Statement(sqlite3_stmt* handle, WorkBound* bound = nullptr)
      : handle_(handle), bound_(bound) {}

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
  WorkBound* bound_;
  std::int64_t rows_ = 0;
};

enum class Access {
  Write,      // made where missing
  Unlocked,   // as Write, where the file system has no locks; this process alone
  Read,       // beside a writer
  Immutable,  // no process writes, and nothing may be written beside the file
  Copy,       // of a record that is to be read: may be written to, and is as untrusted as with Read
};

class Database {
 public:
  static Result<Database> open(const std::filesystem::path& path, Access access);
  static Result<Database> in_memory();

  Result<> run(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  // The first column of the first row.
  Result<std::int64_t> number(const std::string& sql);
  // The whole database as it is now, into a file that is made anew; by SQLite's backup, so that a
  // writer beside it does no harm.
  Result<> copy_to(const std::filesystem::path& file) const;
  // Undoes the transaction that is open, if one is.
  void rollback();
  // What is stored of the file and its log, as far as that is known; only of a connection that
  // reads.
  std::int64_t bytes() const { return bound_ ? bound_->bytes() : 0; }

 private:
  explicit Database(sqlite3* handle) : handle_(handle) {}
  Result<> distrust(std::unique_ptr<WorkBound> bound);
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<WorkBound> bound_;  // outlives the handle
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace chokepoint::record
