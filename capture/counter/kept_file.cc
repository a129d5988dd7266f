#include "capture/counter/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace chokepoint::capture::counter {
namespace {

constexpr std::size_t kFirstRoom = 4096;
constexpr std::size_t kLargest = 1 << 24;

// A file that was removed can still be read where it is no file of the kernel's.
bool is_removed(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && status.st_nlink == 0;
}

}  // namespace

ssize_t KeptFile::read_open(std::string& buffer) const {
  if (buffer.size() < kFirstRoom) {
    buffer.resize(kFirstRoom);
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
      if (length >= kLargest) {
        errno = EFBIG;
        return -1;
      }
      buffer.resize(2 * length);
    }
  }
}

Result<std::string_view> KeptFile::read(std::string& buffer) {
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
  if (!keep_) {
    file_.reset();
  }
  return std::string_view(buffer).substr(0, static_cast<std::size_t>(length));
}

}  // namespace chokepoint::capture::counter
