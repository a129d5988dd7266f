#include "base/record/opening.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/sys/regular_file.h"

namespace chokepoint::record {
namespace {

namespace fs = std::filesystem;

constexpr int kCopyAttempts = 5;

fs::path log_of(const fs::path& path) { return path.string() + "-wal"; }

// Size and last change: if they differ the file was written to while it was copied.
std::pair<std::uintmax_t, fs::file_time_type> stamp_of(const fs::path& path) {
  std::error_code missing;
  const std::uintmax_t size = fs::file_size(path, missing);
  return {missing ? 0 : size, fs::last_write_time(path, missing)};
}

bool has_log(const fs::path& path) { return stamp_of(log_of(path)).first > 0; }

Result<> duplicate(const fs::path& from, const fs::path& to) {
  TRY(const sys::Descriptor source, sys::open_regular("copy", from, O_RDONLY));
  TRY(const sys::Descriptor copy,
      sys::open_regular("copy", to, O_WRONLY | O_CREAT | O_TRUNC, S_IRUSR | S_IWUSR));
  Result<> done = sys::copy_stored(source, copy, "copy", from);
  if (!done && done.error().kind == ErrorKind::Exhausted) {
    done.error().next_step = kOtherTemporary;
  }
  return done;
}

// What is in the log may have to be written a second time, into the file.
Result<> want_room_for(const fs::path& record, const fs::path& folder) {
  return sys::want_room(folder, sys::stored_bytes(record) + 2 * sys::stored_bytes(log_of(record)),
                        "copy the record to", kOtherTemporary);
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
  if (content != Content::Empty) {
    TRY(check_schema(database));
  }
  return Opened{std::nullopt, std::move(database), std::nullopt, content};
}

Result<Opened> open_copy(const fs::path& path) {
  TRY(PrivateFolder folder, PrivateFolder::make());
  const fs::path copy = folder.path() / path.filename();
  TRY(want_room_for(path, folder.path()));
  TRY(copy_record(path, copy));
  Result<Opened> opened = open_as(copy, Access::Copy);
  if (opened && opened->content == Content::Older) {
    TRY(migrate(opened->database));
  }
  if (opened) {
    opened->copy = std::move(folder);
  }
  return opened;
}

// The header in a file's first page; https://sqlite.org/fileformat.html, 1.3.
struct FileHeader {
  std::uint64_t page_bytes = 0;
  std::uint64_t pages = 0;  // 0: not in the header
};

constexpr off_t kPagesAt = 28;  // in the header, big-endian

// Nothing where it is no SQLite file. Before SQLite opens it: to close it again would drop the
// locks that SQLite has on it.
std::optional<FileHeader> header_of(const fs::path& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<unsigned char, 100> bytes{};
  const auto file = sys::open_regular("record", path, O_RDONLY);
  if (!file || pread(file->get(), bytes.data(), bytes.size(), 0) != std::ssize(bytes) ||
      !std::equal(kMagic.begin(), kMagic.end(), bytes.begin(), [](char left, unsigned char right) {
        return left == static_cast<char>(right);
      })) {
    return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t place = at; place < at + count; ++place) {
      value = value << 8U | bytes.at(place);
    }
    return value;
  };
  const std::uint64_t page_bytes = number(16, 2) == 1 ? 65536 : number(16, 2);
  // Programs of before 2010 change a file without counting its pages.
  const bool is_counted = number(24, 4) == number(92, 4);
  if (page_bytes == 0) {
    return std::nullopt;
  }
  return FileHeader{page_bytes, is_counted ? number(kPagesAt, 4) : 0};
}

bool is_cut(const fs::path& path, const FileHeader& header) {
  return stamp_of(path).first < header.pages * header.page_bytes;
}

Result<> shorten_header(const fs::path& copy, const FileHeader& header) {
  const std::uint64_t pages = (stamp_of(copy).first + header.page_bytes - 1) / header.page_bytes;
  std::array<char, 4> bytes{};
  for (std::size_t place = 0; place < bytes.size(); ++place) {
    bytes.at(place) = static_cast<char>(pages >> (8 * (bytes.size() - 1 - place)) & 0xffU);
  }
  TRY(const sys::Descriptor file, sys::open_regular("copy", copy, O_WRONLY));
  return pwrite(file.get(), bytes.data(), bytes.size(), kPagesAt) == std::ssize(bytes)
             ? Result<>()
             : fail(from_errno(errno, "copy", copy.string()));
}

// SQLite refuses a file with fewer pages than its header has. Zeros after the cut are tables and
// pages that fail when they are read; where they would be many, the header is set to what is there,
// and only records whose tables all begin before the cut can be read.
Result<> make_openable(const fs::path& copy, const FileHeader& header) {
  const std::uint64_t bytes = stamp_of(copy).first;
  const std::uint64_t whole = header.pages * header.page_bytes;
  if (whole - bytes > static_cast<std::uint64_t>(kMaxZeros)) {
    return shorten_header(copy, header);
  }
  std::error_code failed;
  fs::resize_file(copy, whole, failed);
  return failed ? fail(from_errno(failed.value(), "copy", copy.string())) : Result<>();
}

// The rows before a cut can be read, of a copy.
Result<Opened> open_cut(const fs::path& path, const FileHeader& header) {
  TRY(PrivateFolder folder, PrivateFolder::make());
  const fs::path copy = folder.path() / path.filename();
  const std::uint64_t bytes = stamp_of(path).first;
  TRY(want_room_for(path, folder.path()));
  TRY(duplicate(path, copy));
  TRY(make_openable(copy, header));
  TRY(Opened opened, open_as(copy, Access::Immutable));
  if (opened.content != Content::Current) {
    return fail(ErrorKind::Malformed, "record", path.string(), "of an older schema, and not whole",
                kCopyAgain);
  }
  opened.copy = std::move(folder);
  opened.damage = Error{.kind = ErrorKind::Malformed,
                        .operation = "record",
                        .subject = path.string(),
                        .reason = fmt::format("cut short: {} of its {} bytes are there", bytes,
                                              header.pages * header.page_bytes),
                        .next_step = std::string(kCopyAgain) + "; what can be read of it is shown"};
  return opened;
}

// SQLite does not mind a last page of which only a part is there. Where there is a log, the rest
// may still be in it.
bool lacks_an_end(const fs::path& path, const std::optional<FileHeader>& header) {
  return header && is_cut(path, *header) && !has_log(path);
}

// `error`: SQLite's error for the file as it is.
Result<Opened> open_damaged(const fs::path& path, const std::optional<FileHeader>& header, bool cut,
                            Error error) {
  if (!header) {
    return fail(std::move(error));  // not of SQLite
  }
  if (cut) {
    Result<Opened> opened = open_cut(path, *header);
    // An Error of our own has its next step.
    if (opened || !opened.error().next_step.empty()) {
      return opened;
    }
    error = opened.error();
  }
  error.reason = (cut ? "cut short (" : "damaged (") + error.reason + ")";
  error.next_step = kCopyAgain;
  return fail(std::move(error));
}

}  // namespace

Result<Opened> open_to_read(const fs::path& path) {
  const std::optional<FileHeader> header = header_of(path);
  Result<Opened> opened = open_as(path, Access::Read);
  if (!opened && opened.error().kind != ErrorKind::Newer &&
      opened.error().kind != ErrorKind::Malformed) {
    if (has_log(path)) {
      return open_copy(path);
    }
    opened = open_as(path, Access::Immutable);
  }
  if (opened && lacks_an_end(path, header)) {
    return open_damaged(path, header, true, {});
  }
  if (opened) {
    return opened->content == Content::Older ? open_copy(path) : std::move(opened);
  }
  // An Error of our own has its next step; one of SQLite may be due to a cut file.
  const bool may_be_cut =
      opened.error().kind == ErrorKind::Malformed && opened.error().next_step.empty();
  return may_be_cut ? open_damaged(path, header, header && is_cut(path, *header), opened.error())
                    : std::move(opened);
}

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
