#include "base/record/database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

constexpr int kBusyTimeoutMs = 200;

// A row takes at least a cell of four bytes and two that point to it.
constexpr std::int64_t kMinRowBytes = 6;
// A row that is counted or passed over takes some ten steps.
constexpr std::int64_t kStepsPerByte = 4;
constexpr std::int64_t kFreeRows = 1000;
constexpr std::int64_t kFreeSteps = 1'000'000;
constexpr int kStepsBetweenLooks = 100'000;

// Of the SQL in a file's schema as of our own, which stays far below.
constexpr std::array<std::pair<int, int>, 10> kLimits{{{SQLITE_LIMIT_LENGTH, kMaxTextBytes},
                                                       {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                                       {SQLITE_LIMIT_COLUMN, 200},
                                                       {SQLITE_LIMIT_EXPR_DEPTH, 50},
                                                       {SQLITE_LIMIT_COMPOUND_SELECT, 10},
                                                       {SQLITE_LIMIT_VDBE_OP, 25'000},
                                                       {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                                       {SQLITE_LIMIT_ATTACHED, 0},
                                                       {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
                                                       {SQLITE_LIMIT_WORKER_THREADS, 0}}};

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
    case SQLITE_TOOBIG:     // kLimits
    case SQLITE_INTERRUPT:  // WorkBound
      return ErrorKind::Malformed;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_PERM:
      return system_errno == 0 ? ErrorKind::Io : from_errno(system_errno, "", "").kind;
    default:
      return ErrorKind::Io;
  }
}

constexpr const char* kTooManyRows = "its pages refer to more rows than it has room for";

const char* reason_of(sqlite3* handle, int code) {
  return (code & 0xff) == SQLITE_INTERRUPT ? kTooManyRows
         : (code & 0xff) == SQLITE_TOOBIG  ? "holds a text that is longer than 64 MiB"
                                           : sqlite3_errmsg(handle);
}

std::string file_of(sqlite3* handle) {
  const char* file = sqlite3_db_filename(handle, "main");
  return file == nullptr ? "" : file;
}

Error error_of(sqlite3* handle) {
  const int code = sqlite3_extended_errcode(handle);
  const int system_errno = sqlite3_system_errno(handle);
  return {kind_of(code, system_errno), "record", file_of(handle), system_errno,
          reason_of(handle, code),     {}};
}

// What SQLite makes beside a record.
constexpr std::array kBeside{"-wal", "-shm", "-journal"};

// What SQLite calls instead of open(). It also opens the folder, to sync it, and a device for
// random numbers.
int open_for_sqlite(const char* path, int flags, int mode) {
  return std::strcmp(path, "/dev/urandom") == 0
             ? ::open(path, flags)
             : sys::open_regular_or_folder(path, flags, static_cast<mode_t>(mode));
}

// What SQLite calls instead of unlink(): its own files, and no other that a journal names.
int remove_for_sqlite(const char* path) {
  constexpr std::string_view kTemporary = "etilqs_";
  const std::string name = std::filesystem::path(path).filename();
  const bool is_own =
      name.starts_with(kTemporary) ||
      std::ranges::any_of(kBeside, [&](const char* ending) { return name.ends_with(ending); });
  if (!is_own) {
    errno = EPERM;
    return -1;
  }
  return ::unlink(path);
}

// False where this SQLite lets no call be replaced.
bool replace_calls() {
  sqlite3_vfs* vfs = sqlite3_initialize() == SQLITE_OK ? sqlite3_vfs_find("unix") : nullptr;
  const auto replace = [&](const char* name, auto* call) {
    return vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(call)) == SQLITE_OK;
  };
  return vfs != nullptr && vfs->iVersion >= 3 && vfs->xSetSystemCall != nullptr &&
         replace("open", &open_for_sqlite) && replace("unlink", &remove_for_sqlite);
}

// So that an Error names what is in the way, which SQLite's own does not.
Result<> check_files(const std::filesystem::path& path) {
  TRY(sys::check_regular("record", path));
  for (const char* ending : kBeside) {
    TRY(sys::check_regular("record", path.string() + ending));
  }
  return {};
}

// With the folder's links resolved, so that SQLITE_OPEN_NOFOLLOW means the file alone.
std::filesystem::path place_of(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  if (failed) {
    return path;
  }
  const std::filesystem::path folder = std::filesystem::canonical(whole.parent_path(), failed);
  return failed ? whole : folder / whole.filename();
}

std::string uri_of(const std::filesystem::path& path, Access access) {
  // Only these mean something inside a URI's path.
  std::string uri = "file:";
  for (const char letter : place_of(path).string()) {
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

WorkBound::WorkBound(std::filesystem::path file)
    : file_(std::move(file)),
      bytes_(sys::stored_bytes(file_) + sys::stored_bytes(file_.string() + "-wal")) {}

// Without opening the file: to close it would drop the locks of this process.
void WorkBound::measure_again() {
  bytes_ =
      std::max(bytes_, sys::bytes_in_blocks(file_) + sys::bytes_in_blocks(file_.string() + "-wal"));
}

bool WorkBound::allows_rows(std::int64_t rows) {
  const auto most = [this] { return kFreeRows + bytes_ / kMinRowBytes; };
  if (rows > most()) {
    measure_again();
  }
  return rows <= most();
}

bool WorkBound::allows_more_steps(std::int64_t steps) {
  const auto most = [this] { return kFreeSteps + kStepsPerByte * bytes_; };
  steps_ += steps;
  if (steps_ > most()) {
    measure_again();
  }
  return steps_ <= most();
}

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
  if (bound_ != nullptr) {
    bound_->begin();
  }
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) {
    ++rows_;
    if (bound_ != nullptr && !bound_->allows_rows(rows_)) {
      return fail(ErrorKind::Malformed, "record", file_of(sqlite3_db_handle(handle_.get())),
                  kTooManyRows);
    }
    return true;
  }
  rows_ = 0;
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

void Statement::reset() {
  rows_ = 0;
  sqlite3_reset(handle_.get());
}

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
  static const bool is_replaced = replace_calls();
  if (!is_replaced) {
    return fail(ErrorKind::Unsupported, "record", path.string(),
                "this SQLite lets no program choose how it opens files",
                "install one that is built with its VFS 'unix'");
  }
  TRY(check_files(path));
  const bool writes = access == Access::Write || access == Access::Unlocked;
  auto bound = writes ? nullptr : std::make_unique<WorkBound>(path);
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
                    (writes                   ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                     : access == Access::Copy ? SQLITE_OPEN_READWRITE
                                              : SQLITE_OPEN_READONLY);
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
  sqlite3_busy_timeout(handle, kBusyTimeoutMs);
  // A writer may continue a record of another origin: SQL in its schema (views, triggers) is not
  // run.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  if (!writes) {
    TRY(database.distrust(std::move(bound)));
  }
  return database;
}

Result<> Database::copy_to(const std::filesystem::path& file) const {
  TRY(Database copy, open(file, Access::Write));
  sqlite3_backup* backup = sqlite3_backup_init(copy.handle_.get(), "main", handle_.get(), "main");
  if (backup == nullptr) {
    return fail(error_of(copy.handle_.get()));
  }
  constexpr int kAllPages = -1;
  const int code = sqlite3_backup_step(backup, kAllPages);
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) {
    return fail(error_of(copy.handle_.get()));
  }
  // A file without a log of its own: nothing is missing of it.
  return copy.run("PRAGMA journal_mode = DELETE");
}

Result<Database> Database::in_memory() {
  sqlite3* handle = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(handle);
  if (code != SQLITE_OK) {
    return fail(handle == nullptr ? from_errno(ENOMEM, "record", "") : error_of(handle));
  }
  return database;
}

Result<> Database::distrust(std::unique_ptr<WorkBound> bound) {
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  for (const auto& [limit, most] : kLimits) {
    sqlite3_limit(handle_.get(), limit, most);
  }
  bound_ = std::move(bound);
  sqlite3_progress_handler(
      handle_.get(), kStepsBetweenLooks,
      [](void* given) {
        return static_cast<WorkBound*>(given)->allows_more_steps(kStepsBetweenLooks) ? 0 : 1;
      },
      bound_.get());
  // Not mapped: a disk error, or a file cut short meanwhile, would end the process with SIGBUS.
  return run("PRAGMA cell_size_check=ON;PRAGMA mmap_size=0");
}

Result<> Database::run(const std::string& sql) {
  if (bound_) {
    bound_->begin();
  }
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return fail(error_of(handle_.get()));
  }
  return {};
}

Result<Statement> Database::prepare(const std::string& sql) {
  if (bound_) {
    bound_->begin();
  }
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v3(handle_.get(), sql.c_str(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK) {
    return fail(error_of(handle_.get()));
  }
  return Statement(statement, bound_.get());
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
