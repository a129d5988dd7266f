#include "base/sys/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

namespace chokepoint::sys {
namespace {

using std::chrono::milliseconds;

// For the process at the pipe's other end: both are started at the same time.
constexpr milliseconds kMaxPipeWait{1'000};
constexpr milliseconds kRetryInterval{10};

constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

const char* words_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "is a folder";
    case S_IFIFO:
      return "is a pipe";
    case S_IFSOCK:
      return "is a socket";
    default:
      return "is a device";
  }
}

std::unexpected<Error> refused(mode_t mode, const std::filesystem::path& path,
                               std::string_view operation) {
  return fail(ErrorKind::Usage, operation, path.string(), words_of(mode), "a file is wanted here");
}

bool is_input(mode_t mode) { return S_ISREG(mode) || S_ISFIFO(mode); }

bool is_output(mode_t mode) { return is_input(mode) || S_ISCHR(mode); }

// Pieces of a pipe or a file until its end.
class Reading {
 public:
  Reading(int descriptor, bool is_pipe) : descriptor_(descriptor), waits_for_writer_(is_pipe) {}

  // How many bytes came: 0 at the end, or where no process writes to the pipe; an errno below 0.
  ssize_t some(std::array<char, 16384>& into) {
    while (true) {
      const ssize_t count = read(descriptor_, into.data(), into.size());
      if (count > 0 || (count < 0 && errno == EAGAIN)) {
        waits_for_writer_ = false;
      }
      if (count > 0 || (count == 0 && !waits_for_writer_)) {
        return count;
      }
      if (count < 0 && errno != EINTR && errno != EAGAIN) {
        return -errno;
      }
      if (count == 0 && std::chrono::steady_clock::now() > until_) {
        return 0;
      }
      pollfd waiting{.fd = descriptor_, .events = POLLIN, .revents = 0};
      poll(&waiting, 1, waits_for_writer_ ? static_cast<int>(kRetryInterval.count()) : -1);
      // A writer was there, and has gone.
      waits_for_writer_ = waits_for_writer_ && (waiting.revents & POLLHUP) == 0;
    }
  }

  bool has_no_writer() const { return waits_for_writer_; }

 private:
  int descriptor_;
  bool waits_for_writer_;
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + kMaxPipeWait;
};

std::unexpected<Error> no_other_end(const std::filesystem::path& path, std::string_view operation,
                                    std::string_view reason) {
  return fail(ErrorKind::Timeout, operation, path.string(), reason, "start that process first");
}

// A pipe without a reader refuses to be opened, for as long as is waited for one.
Descriptor open_existing(const std::filesystem::path& path, bool is_pipe) {
  const auto until = std::chrono::steady_clock::now() + kMaxPipeWait;
  while (true) {
    Descriptor opened(open(path.c_str(), O_WRONLY | O_TRUNC | kNeverWait));
    if (opened || errno != ENXIO || !is_pipe || std::chrono::steady_clock::now() > until) {
      return opened;
    }
    std::this_thread::sleep_for(kRetryInterval);
  }
}

Result<Descriptor> make_output(const std::filesystem::path& path, mode_t mode,
                               std::string_view operation) {
  // O_EXCL does not follow a link: here that is one to nothing.
  Descriptor made(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY | O_CLOEXEC, mode));
  if (made) {
    return made;
  }
  if (errno == EEXIST) {
    return fail(ErrorKind::NotFound, operation, path.string(),
                "is a link to a file that is missing", "remove the link, or name the file");
  }
  return fail(from_errno(errno, operation, path.string()));
}

}  // namespace

Result<Descriptor> open_input(const std::filesystem::path& path, std::string_view operation) {
  // Looked at before, since opening a device may be an act; and after, since it may be another one.
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  if (!is_input(about.st_mode)) {
    return refused(about.st_mode, path, operation);
  }
  Descriptor opened(open(path.c_str(), O_RDONLY | kNeverWait));
  if (!opened || fstat(opened.get(), &about) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  if (!is_input(about.st_mode)) {
    return refused(about.st_mode, path, operation);
  }
  return opened;
}

Result<std::string> read_input(const std::filesystem::path& path, std::size_t most_bytes,
                               std::string_view operation) {
  TRY(const Descriptor opened, open_input(path, operation));
  return read_opened(opened, path, most_bytes, operation);
}

Result<std::string> read_opened(const Descriptor& opened, const std::filesystem::path& path,
                                std::size_t most_bytes, std::string_view operation) {
  const auto too_large = [&] {
    return fail(ErrorKind::Malformed, operation, path.string(),
                most_bytes % (1UL << 20) == 0
                    ? fmt::format("is larger than {} MiB", most_bytes >> 20)
                    : fmt::format("is larger than {} bytes", most_bytes));
  };
  struct stat about{};
  if (fstat(opened.get(), &about) == 0 && S_ISREG(about.st_mode) &&
      about.st_size > static_cast<off_t>(most_bytes)) {
    return too_large();
  }
  Reading reading(opened.get(), S_ISFIFO(about.st_mode));
  std::string content;
  std::array<char, 16384> piece;
  while (true) {
    const ssize_t count = reading.some(piece);
    if (count < 0) {
      return fail(from_errno(static_cast<int>(-count), operation, path.string()));
    }
    if (count == 0 && reading.has_no_writer()) {
      return no_other_end(path, operation, "no process writes to this pipe");
    }
    if (count == 0) {
      return content;
    }
    content.append(piece.data(), static_cast<std::size_t>(count));
    if (content.size() > most_bytes) {
      return too_large();
    }
  }
}

Result<Descriptor> open_output(const std::filesystem::path& path, mode_t mode,
                               std::string_view operation) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) {
    return errno == ENOENT ? make_output(path, mode, operation)
                           : fail(from_errno(errno, operation, path.string()));
  }
  if (!is_output(about.st_mode)) {
    return refused(about.st_mode, path, operation);
  }
  const bool is_pipe = S_ISFIFO(about.st_mode);
  Descriptor opened = open_existing(path, is_pipe);
  if (!opened && errno == ENXIO && is_pipe) {
    return no_other_end(path, operation, "no process reads from this pipe");
  }
  if (!opened || fstat(opened.get(), &about) != 0) {
    return fail(from_errno(errno, operation, path.string()));
  }
  if (!is_output(about.st_mode)) {
    return refused(about.st_mode, path, operation);
  }
  // What is written waits for room, as in every pipe.
  fcntl(opened.get(), F_SETFL, fcntl(opened.get(), F_GETFL) & ~O_NONBLOCK);
  return opened;
}

bool write_whole(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      return false;
    }
    bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace chokepoint::sys
