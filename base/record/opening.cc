#include "base/record/opening.h"

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
  Result<Database> database = Database::open(path, access);
  if (!database) {
    return fail(database.error());
  }
  const Result<Content> content = identify(*database);
  if (!content) {
    return fail(content.error());
  }
  return Opened{std::nullopt, std::move(*database), std::nullopt, *content};
}

Result<Opened> open_copy(const fs::path& path) {
  Result<PrivateFolder> folder = PrivateFolder::make();
  if (!folder) {
    return fail(folder.error());
  }
  const fs::path copy = folder->path() / path.filename();
  if (const Result<> copied = copy_record(path, copy); !copied) {
    return fail(copied.error());
  }
  Result<Opened> opened = open_as(copy, Access::Write);
  if (opened && opened->content == Content::Older) {
    const Result<> migrated = migrate(opened->database);
    if (!migrated) {
      return fail(migrated.error());
    }
  }
  if (opened) {
    opened->copy = std::move(*folder);
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

}  // namespace chokepoint::record
