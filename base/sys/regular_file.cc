#include "base/sys/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

namespace chokepoint::sys {
namespace {

namespace fs = std::filesystem;

constexpr int kCareful = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
constexpr std::int64_t kBlockBytes = 512;  // of st_blocks, whatever the file system's are
// The largest ratio of compression: Btrfs packs 128 KiB into a page of 4 KiB at best; ZFS and
// others less.
constexpr std::int64_t kMaxCompression = 32;
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

const char* name_of(mode_t mode) {
  return S_ISDIR(mode)    ? "a folder"
         : S_ISLNK(mode)  ? "a link"
         : S_ISFIFO(mode) ? "a FIFO"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

std::unexpected<Error> not_regular(std::string_view operation, const fs::path& path, mode_t mode) {
  return fail(ErrorKind::Malformed, operation, path.string(),
              fmt::format("is {}, not a regular file", name_of(mode)), "remove it");
}

struct Stretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The first stretch at or behind `from` that is stored; nothing where there is none.
std::optional<Stretch> stored_from(int file, std::int64_t from, std::int64_t size) {
  const off_t begin = lseek(file, from, SEEK_DATA);
  if (begin < 0) {
    // Only ENXIO means that the rest is a hole.
    return errno == ENXIO || from >= size ? std::nullopt : std::optional(Stretch{from, size});
  }
  if (begin >= size) {
    return std::nullopt;
  }
  const off_t end = lseek(file, begin, SEEK_HOLE);
  return Stretch{begin, end > begin ? std::min<std::int64_t>(end, size) : size};
}

std::int64_t stored_in(int file, std::int64_t size) {
  std::int64_t sum = 0;
  for (auto stretch = stored_from(file, 0, size); stretch;
       stretch = stored_from(file, stretch->end, size)) {
    sum += stretch->end - stretch->begin;
  }
  return sum;
}

Result<> write_at(int file, std::string_view bytes, std::int64_t at, std::string_view operation,
                  const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(file, bytes.data(), bytes.size(), at);
    if (count < 0 && errno != EINTR) {
      return fail(from_errno(errno, operation, path.string()));
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    at += std::max<ssize_t>(count, 0);
  }
  return {};
}

Result<> copy_stretch(int from, int to, Stretch stretch, std::string_view operation,
                      const fs::path& path) {
  std::string piece(kPieceBytes, '\0');
  while (stretch.begin < stretch.end) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(
        stretch.end - stretch.begin, static_cast<std::int64_t>(kPieceBytes)));
    const ssize_t count = pread(from, piece.data(), wanted, stretch.begin);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(from_errno(errno, operation, path.string()));
    }
    if (count == 0) {
      break;  // cut short meanwhile
    }
    const auto bytes = std::string_view(piece).substr(0, static_cast<std::size_t>(count));
    TRY(write_at(to, bytes, stretch.begin, operation, path));
    stretch.begin += count;
  }
  return {};
}

}  // namespace

Result<bool> check_regular(std::string_view operation, const fs::path& path) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? Result<bool>(false)
                           : fail(from_errno(errno, operation, path.string()));
  }
  return S_ISREG(found.st_mode) ? Result<bool>(true) : not_regular(operation, path, found.st_mode);
}

Result<Descriptor> open_regular(std::string_view operation, const fs::path& path, int flags,
                                mode_t mode) {
  // A device may do something when it is opened, so that it is looked at before; what takes the
  // file's place meanwhile is found out below, and does not block.
  TRY(check_regular(operation, path));
  Descriptor file(open(path.c_str(), flags | kCareful, mode));
  struct stat found{};
  if (!file || fstat(file.get(), &found) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  return S_ISREG(found.st_mode) ? Result<Descriptor>(std::move(file))
                                : not_regular(operation, path, found.st_mode);
}

int open_regular_or_folder(const char* path, int flags, mode_t mode) {
  const auto is_fine = [&](const struct stat& found) {
    return S_ISREG(found.st_mode) ||
           (S_ISDIR(found.st_mode) && (flags & (O_ACCMODE | O_CREAT)) == O_RDONLY);
  };
  struct stat found{};
  if (lstat(path, &found) == 0 && !is_fine(found)) {
    errno = S_ISLNK(found.st_mode) ? ELOOP : ENXIO;
    return -1;
  }
  Descriptor file(open(path, flags | kCareful, mode));
  if (file && (fstat(file.get(), &found) != 0 || !is_fine(found))) {
    errno = ENXIO;
    return -1;
  }
  return file.release();
}

Result<Descriptor> open_named(std::string_view operation, const fs::path& path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  if (!S_ISREG(found.st_mode)) {
    return not_regular(operation, path, found.st_mode);
  }
  Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file || fstat(file.get(), &found) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  return S_ISREG(found.st_mode) ? Result<Descriptor>(std::move(file))
                                : not_regular(operation, path, found.st_mode);
}

Result<std::string> read_up_to(const Descriptor& file, std::size_t most_bytes,
                               std::string_view operation, const fs::path& path) {
  std::string text;
  std::array<char, 16384> piece{};
  while (text.size() <= most_bytes) {
    const ssize_t count =
        read(file.get(), piece.data(), std::min(piece.size(), most_bytes + 1 - text.size()));
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(from_errno(errno, operation, path.string()));
    }
    if (count == 0) {
      break;
    }
    text.append(piece.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::int64_t bytes_in_blocks(const fs::path& path) {
  struct stat found{};
  return lstat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode)
             ? std::min<std::int64_t>(found.st_size,
                                      found.st_blocks * kBlockBytes * kMaxCompression)
             : 0;
}

std::int64_t stored_bytes(const fs::path& path) {
  const std::int64_t in_blocks = bytes_in_blocks(path);
  const Result<Descriptor> file = open_regular("", path, O_RDONLY);
  struct stat found{};
  if (!file || fstat(file->get(), &found) != 0 || found.st_size <= in_blocks) {
    return in_blocks;
  }
  return stored_in(file->get(), found.st_size);
}

Result<> copy_stored(const Descriptor& from, const Descriptor& to, std::string_view operation,
                     const fs::path& path) {
  struct stat found{};
  if (fstat(from.get(), &found) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  for (auto stretch = stored_from(from.get(), 0, found.st_size); stretch;
       stretch = stored_from(from.get(), stretch->end, found.st_size)) {
    TRY(copy_stretch(from.get(), to.get(), *stretch, operation, path));
  }
  return ftruncate(to.get(), found.st_size) == 0
             ? Result<>()
             : fail(from_errno(errno, operation, path.string()));
}

Result<> want_room(const fs::path& folder, std::int64_t bytes, std::string_view operation,
                   std::string_view next_step) {
  struct statvfs disk{};
  if (statvfs(folder.c_str(), &disk) != 0) {
    return {};  // unknown: then the write fails
  }
  const auto free =
      static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
  return bytes <= free ? Result<>()
                       : fail(ErrorKind::Exhausted, operation, folder.string(),
                              fmt::format("{} MB are needed there, and {} MB are free",
                                          (bytes + 999'999) / 1'000'000, free / 1'000'000),
                              next_step);
}

}  // namespace chokepoint::sys
