#include "base/record/database.h"

#include <sqlite3.h>

#include <cerrno>

namespace chokepoint::record {
namespace {

constexpr int kPatienceMs = 200;

ErrorKind kind_of(int code, int system_errno) {
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ErrorKind::Exhausted;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return ErrorKind::Busy;
    case SQLITE_READONLY:
      return ErrorKind::ReadOnly;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::Malformed;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
      return system_errno == 0 ? ErrorKind::Io : from_errno(system_errno, "", "").kind;
    default:
      return ErrorKind::Io;
  }
}

Error error_of(sqlite3* handle) {
  const int code = sqlite3_extended_errcode(handle);
  const int system_errno = sqlite3_system_errno(handle);
  const char* file = sqlite3_db_filename(handle, "main");
  return {kind_of(code, system_errno), "record", file == nullptr ? "" : file, system_errno,
          sqlite3_errmsg(handle),      {}};
}

std::string uri_of(const std::filesystem::path& path, Access access) {
  // Only these mean something inside a URI's path.
  std::string uri = "file:";
  for (const char letter : std::filesystem::absolute(path).string()) {
    switch (letter) {
      case '%':
        uri += "%25";
        break;
      case '?':
        uri += "%3f";
        break;
      case '#':
        uri += "%23";
        break;
      default:
        uri += letter;
    }
  }
  return uri + (access == Access::Immutable ? "?immutable=1" : "");
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* handle) const { sqlite3_finalize(handle); }

void Statement::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(handle_.get(), parameter, value);
}

void Statement::bind(int parameter, double value) {
  sqlite3_bind_double(handle_.get(), parameter, value);
}

void Statement::bind(int parameter, std::string_view value) {
  sqlite3_bind_text64(handle_.get(), parameter, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}

void Statement::bind(int parameter, Figure value) {
  if (value.known()) {
    sqlite3_bind_int64(handle_.get(), parameter, value.value());
  } else {
    sqlite3_bind_null(handle_.get(), parameter);
  }
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  return fail(error_of(sqlite3_db_handle(handle_.get())));
}

Result<> Statement::run() {
  Result<> done = each([] {});
  reset();
  return done;
}

void Statement::reset() { sqlite3_reset(handle_.get()); }

void Statement::read(int column, std::int64_t& value) const {
  value = sqlite3_column_int64(handle_.get(), column);
}

// NULL reads as 0, so only a 0 has to be asked about.
void Statement::read(int column, double& value) const {
  value = sqlite3_column_double(handle_.get(), column);
  if (value == 0 && sqlite3_column_type(handle_.get(), column) == SQLITE_NULL) {
    value = std::numeric_limits<double>::quiet_NaN();
  }
}

void Statement::read(int column, std::string& value) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), column));
  const int size = sqlite3_column_bytes(handle_.get(), column);
  value = text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(size));
}

void Statement::read(int column, Figure& value) const {
  const std::int64_t number = sqlite3_column_int64(handle_.get(), column);
  const bool is_null = number == 0 && sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
  value = is_null ? Figure() : Figure(number);
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Result<Database> Database::open(const std::filesystem::path& path, Access access) {
  const bool writes = access == Access::Write || access == Access::Unlocked;
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri_of(path, access).c_str(), &handle, flags,
                                   access == Access::Unlocked ? "unix-none" : nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    Error error =
        handle == nullptr ? from_errno(ENOMEM, "record", path.string()) : error_of(handle);
    error.subject = path.string();
    return fail(std::move(error));
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kPatienceMs);
  return database;
}

Result<> Database::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail(error_of(handle_.get()));
  }
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.c_str(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return fail(error_of(handle_.get()));
  }
  return Statement(statement);
}

Result<std::int64_t> Database::number(const std::string& sql) {
  TRY(Statement statement, prepare(sql));
  TRY(const bool row, statement.step());
  std::int64_t value = 0;
  if (row) {
    statement.read(0, value);
  }
  return value;
}

void Database::rollback() {
  if (sqlite3_get_autocommit(handle_.get()) == 0) {
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

}  // namespace chokepoint::record
