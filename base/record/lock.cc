#include "base/record/lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

namespace chokepoint::record {
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

}  // namespace chokepoint::record
