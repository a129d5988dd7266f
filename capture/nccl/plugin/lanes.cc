#include "capture/nccl/plugin/lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/old_libc.h"
#include "capture/nccl/plugin/process.h"

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

// Writing past this limit (`ulimit -f`) sends SIGXFSZ, which would end the job, before any error.
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

std::uint64_t thread_id() { return static_cast<std::uint64_t>(syscall(SYS_gettid)); }

// Zeroed, which is what free entries are. Not by malloc: a callback may come from inside one.
Entries* make_entries() {
  void* mapped =
      mmap(nullptr, sizeof(Entries), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<Entries*>(mapped);
}

// Faults now, not in the middle of a collective. A kernel that cannot do so leaves it to later.
void touch(void* from, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(from) % page;
  madvise(static_cast<char*>(from) - before, bytes + before, MADV_POPULATE_WRITE);
#else
  static_cast<void>(from);
  static_cast<void>(bytes);
#endif
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

bool Lanes::prepare(SharedFile& file) {
  file_ = &file;
  return pthread_key_create(&key_, leave) == 0;
}

Lane* Lanes::mine() {
  auto* lane = static_cast<Lane*>(pthread_getspecific(key_));
  return lane != nullptr ? lane : claim();
}

bool Lanes::furnish(Lane& lane) {
  if (lane.entries.load(std::memory_order_acquire) == nullptr) {
    Entries* entries = make_entries();
    if (entries == nullptr) {
      return false;
    }
    lane.entries.store(entries, std::memory_order_release);
  }
  if (lane.ring.load(std::memory_order_relaxed) == nullptr) {
    Ring* ring = file_->reserve(lane.number);
    if (ring != nullptr) {
      touch(ring, sizeof(Ring));
    }
    lane.ring.store(ring, std::memory_order_relaxed);
  }
  return true;
}

Lane* Lanes::claim() {
  if (taken_.load(std::memory_order_relaxed) >= kRings) {
    return nullptr;
  }
  const std::uint64_t thread = thread_id();
  for (std::size_t each = 0; each < kRings; ++each) {
    std::uint64_t free = 0;
    if (!owners_[each].compare_exchange_strong(free, thread, std::memory_order_acq_rel)) {
      continue;
    }
    taken_.fetch_add(1, std::memory_order_relaxed);
    Lane& lane = lanes_[each];
    lane.number = static_cast<std::uint32_t>(each);
    if (!furnish(lane) || pthread_setspecific(key_, &lane) != 0) {
      release(lane);
      return nullptr;
    }
    if (Ring* ring = lane.ring.load(std::memory_order_relaxed); ring != nullptr) {
      ring->thread.store(thread, std::memory_order_release);
    }
    return &lane;
  }
  return nullptr;
}

void Lanes::release(Lane& lane) {
  if (Ring* ring = lane.ring.load(std::memory_order_relaxed); ring != nullptr) {
    ring->thread.store(0, std::memory_order_release);
  }
  owners_[lane.number].store(0, std::memory_order_release);
  taken_.fetch_sub(1, std::memory_order_relaxed);
}

void Lanes::leave(void* lane) {
  Lanes& lanes = process().lanes;
  if (!lanes.is_disowned()) {
    lanes.release(*static_cast<Lane*>(lane));
  }
}

Entry* Lanes::entry(const Handle& handle) {
  if (handle.lane >= kRings || handle.place >= kEntries) {
    return nullptr;
  }
  Entries* entries = lanes_[handle.lane].entries.load(std::memory_order_acquire);
  return entries == nullptr ? nullptr : &(*entries)[handle.place];
}

}  // namespace chokepoint::capture::nccl::plugin
