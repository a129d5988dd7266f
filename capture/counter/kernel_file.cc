#include "capture/counter/kernel_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace chokepoint::capture::counter {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kMaxBytes = 1 << 24;

// An ordinary file (of a test) can still be read after it was removed, unlike one of /proc.
bool is_removed(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

ssize_t KernelFile::read_open(std::string& buffer) const {
  if (buffer.size() < kFirstBytes) {
    buffer.resize(kFirstBytes);
  }
  std::size_t length = 0;
  while (true) {
    const ssize_t count = pread(file_.get(), buffer.data() + length, buffer.size() - length,
                                static_cast<off_t>(length));
    if (count < 0) {
      return -1;
    }
    if (count == 0) {
      return static_cast<ssize_t>(length);
    }
    length += static_cast<std::size_t>(count);
    if (length == buffer.size()) {
      if (length >= kMaxBytes) {
        errno = EFBIG;
        return -1;
      }
      buffer.resize(2 * length);
    }
  }
}

Result<std::string_view> KernelFile::read(std::string& buffer) {
  ssize_t length = file_ && !is_removed(file_.get()) ? read_open(buffer) : -1;
  if (length < 0) {
    file_.reset(open(place_.c_str(), O_RDONLY | O_CLOEXEC));
    length = file_ ? read_open(buffer) : -1;
  }
  if (length < 0) {
    Error error = from_errno(errno, "read", path_);
    file_.reset();
    return fail(std::move(error));
  }
  if (!stays_open_) {
    file_.reset();
  }
  return std::string_view(buffer).substr(0, static_cast<std::size_t>(length));
}

// "4711 (a name) R 1 …": the name may hold anything, so columns count from the last bracket.
std::optional<ProcessStat> process_stat_in(std::string_view text) {
  constexpr std::size_t kUserTime = 11;  // after the bracket; proc(5) calls it 14
  constexpr std::size_t kBetweenTimesAndStart = 6;
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string_view::npos) {
    return std::nullopt;
  }
  Words words(text.substr(bracket + 1));
  words.skip(kUserTime);
  const std::optional<std::uint64_t> user = number_in(words.next());
  const std::optional<std::uint64_t> system = number_in(words.next());
  words.skip(kBetweenTimesAndStart);
  const std::optional<std::uint64_t> start = number_in(words.next());
  words.next();  // the size of the address space
  const std::optional<std::uint64_t> pages = number_in(words.next());
  if (!user || !system || !start || !pages) {
    return std::nullopt;
  }
  const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return ProcessStat{.cpu_ns = (*user + *system) * tick_ns,
                     .memory_bytes = *pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
                     .start_ticks = *start};
}

}  // namespace chokepoint::capture::counter
