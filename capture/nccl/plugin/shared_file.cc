#include "capture/nccl/plugin/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/nccl/plugin/clocks.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

// By its number: the C library's own function has had another name in older ones.
bool status_of(int descriptor, struct stat& status) {
  return syscall(SYS_fstat, descriptor, &status) == 0;
}

// A folder that others may write to could hold anything under our name.
bool is_private(const char* folder) {
  const int descriptor = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    return false;
  }
  struct stat status = {};
  const bool is_private = status_of(descriptor, status) &&
                          (status.st_uid == geteuid() || status.st_uid == 0) &&
                          (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  close(descriptor);
  return is_private;
}

// Past this limit (`ulimit -f`) the kernel sends a signal that ends the job, before it says no.
bool may_be_whole() {
  rlimit limit = {};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= sizeof(File));
}

// A job's signals may interrupt it; that is no reason to go without.
bool has_room(int descriptor, std::size_t offset, std::size_t bytes) {
  constexpr int kTries = 16;
  int failed = EINTR;
  for (int tries = 0; failed == EINTR && tries < kTries; ++tries) {
    failed = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
  return failed == 0;
}

File* map(int descriptor) {
  void* mapped = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<File*>(mapped);
}

void introduce(Header& header, int table) {
  header.version.store(kLayoutVersion, std::memory_order_relaxed);
  header.process.store(static_cast<std::uint64_t>(getpid()), std::memory_order_relaxed);
  header.table.store(static_cast<std::uint64_t>(table), std::memory_order_relaxed);
  header.magic.store(kMagic, std::memory_order_release);
}

}  // namespace

bool SharedFile::create(int table) {
  const int descriptor =
      ::open(path_.data(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0) {
    return false;
  }
  struct stat status = {};
  File* file = nullptr;
  if (status_of(descriptor, status) && ftruncate(descriptor, sizeof(File)) == 0 &&
      has_room(descriptor, 0, sizeof(Header))) {
    file = map(descriptor);
  }
  close(descriptor);
  if (file == nullptr) {
    unlink(path_.data());
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  introduce(file->header, table);
  file_.store(file, std::memory_order_release);
  return true;
}

bool SharedFile::open(const char* folder, int table) {
  if (folder == nullptr || folder[0] != '/') {
    return false;
  }
  const int length = snprintf(path_.data(), path_.size(), "%s/%d-%llx%s", folder, getpid(),
                              static_cast<unsigned long long>(wall_ns()), kFileSuffix);
  return length > 0 && static_cast<std::size_t>(length) < path_.size() && is_private(folder) &&
         may_be_whole() && create(table);
}

Ring* SharedFile::reserve(std::size_t ring) {
  File* file = get();
  if (file == nullptr || ring >= kRings) {
    return nullptr;
  }
  const int descriptor = ::open(path_.data(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) {
    return nullptr;
  }
  struct stat status = {};
  const std::size_t offset = offsetof(File, rings) + ring * sizeof(Ring);
  const bool is_there = status_of(descriptor, status) && status.st_dev == device_ &&
                        status.st_ino == inode_ && has_room(descriptor, offset, sizeof(Ring));
  close(descriptor);
  return is_there ? &file->rings[ring] : nullptr;
}

}  // namespace chokepoint::capture::nccl::plugin
