#include "base/record/opening.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

constexpr int kCopyAttempts = 5;

fs::path log_of(const fs::path& path) { return path.string() + "-wal"; }

// Size and last change: what tells that a file was written to while it was copied.
std::pair<std::uintmax_t, fs::file_time_type> stamp_of(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(path, missing);
  return {missing ? 0 : size, fs::last_write_time(path, missing)};
}

bool has_log(const fs::path& path) { return stamp_of(log_of(path)).first > 0; }

Result<> duplicate(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  return error ? fail(from_errno(error.value(), "copy", from.string())) : Result<>();
}

// The log first: what is copied into the file meanwhile is then in both, and not in neither.
Result<> copy_record(const fs::path& from, const fs::path& to) {
  Result<> done;
  for (int left = kCopyAttempts; left > 0; --left) {
    const auto before = std::pair(stamp_of(from), stamp_of(log_of(from)));
    done = has_log(from) ? duplicate(log_of(from), log_of(to)) : Result<>();
    if (done) {
      done = duplicate(from, to);
    }
    if (!done || before == std::pair(stamp_of(from), stamp_of(log_of(from)))) {
      break;
    }
  }
  return done;
}

Result<Opened> open_as(const fs::path& path, Access access) {
  TRY(Database database, Database::open(path, access));
  TRY(const Content content, identify(database));
  return Opened{std::nullopt, std::move(database), std::nullopt, content};
}

Result<Opened> open_copy(const fs::path& path) {
  TRY(PrivateFolder folder, PrivateFolder::make());
  const fs::path copy = folder.path() / path.filename();
  TRY(copy_record(path, copy));
  Result<Opened> opened = open_as(copy, Access::Write);
  if (opened && opened->content == Content::Older) {
    TRY(migrate(opened->database));
  }
  if (opened) {
    opened->copy = std::move(folder);
  }
  return opened;
}

// SQLite refuses a file that is shorter than it says, unless it is told that the schema may be
// mended; the rows before the cut can then be read.
Result<Opened> open_damaged(const fs::path& path, const Error& damage) {
  Result<Database> database = Database::open(path, Access::Immutable);
  if (!database || !database->run("PRAGMA writable_schema=ON")) {
    return fail(damage);
  }
  const Result<Content> content = identify(*database);
  if (!content || *content != Content::Current) {
    return fail(damage);
  }
  Error cut = damage;
  cut.subject = path.string();
  cut.reason = "cut short or damaged (" + damage.reason + ")";
  cut.next_step = "what can be read of it is shown";
  return Opened{std::nullopt, std::move(*database), std::move(cut), *content};
}

}  // namespace

Result<Opened> open_to_read(const fs::path& path) {
  Result<Opened> opened = open_as(path, Access::Read);
  if (opened && opened->content == Content::Older) {
    return open_copy(path);
  }
  if (opened || opened.error().kind == ErrorKind::Newer) {
    return opened;
  }
  if (opened.error().kind == ErrorKind::Malformed) {
    // An Error of identify() stands; one of SQLite may be a cut.
    if (opened.error().next_step.empty()) {
      return open_damaged(path, opened.error());
    }
    return opened;
  }
  return has_log(path) ? open_copy(path) : open_as(path, Access::Immutable);
}

namespace {

// The last holder may have removed the file between our open and our lock.
bool is_still_there(const std::filesystem::path& path, int fd) {
  struct stat named{};
  struct stat held{};
  return stat(path.c_str(), &named) == 0 && fstat(fd, &held) == 0 && named.st_ino == held.st_ino &&
         named.st_dev == held.st_dev;
}

bool has_no_locks(int code) {
  return code == ENOLCK || code == EOPNOTSUPP || code == ENOSYS || code == EINVAL;
}

Error open_error(int code, const std::filesystem::path& path) {
  Error error = from_errno(code, "record", path.parent_path().string());
  if (code == EROFS || code == EACCES || code == EPERM) {
    error.next_step = "give a folder that can be written to";
  }
  return error;
}

}  // namespace

Result<WriterLock> WriterLock::take(const std::filesystem::path& record) {
  const std::filesystem::path path = record.string() + "-lock";
  while (true) {
    sys::Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!file) {
      return fail(open_error(errno, path));
    }
    if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      if (is_still_there(path, file.get())) {
        return WriterLock(path, std::move(file), true);
      }
      continue;
    }
    if (has_no_locks(errno)) {
      return WriterLock(path, std::move(file), false);
    }
    if (errno == EWOULDBLOCK) {
      return fail(ErrorKind::Busy, "record", record.string(),
                  "another process is writing this record",
                  "wait until it ends, or give another folder or --node");
    }
    if (errno != EINTR) {
      return fail(from_errno(errno, "lock", path.string()));
    }
  }
}

WriterLock::~WriterLock() {
  if (file_) {
    unlink(path_.c_str());
  }
}

namespace fs = std::filesystem;

Result<PrivateFolder> PrivateFolder::make() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "chokepoint-XXXXXX").string();
  if (error || mkdtemp(name.data()) == nullptr) {
    Error failed = from_errno(error ? error.value() : errno, "copy the record to", name);
    failed.next_step = "set TMPDIR to a folder that can be written to";
    return fail(std::move(failed));
  }
  return PrivateFolder(name);
}

PrivateFolder::~PrivateFolder() {
  if (!path_.empty()) {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
}

}  // namespace chokepoint::record
