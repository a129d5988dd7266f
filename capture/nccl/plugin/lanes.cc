#include "capture/nccl/plugin/lanes.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/nccl/plugin/old_libc.h"
#include "capture/nccl/plugin/process.h"

namespace chokepoint::capture::nccl::plugin {
namespace {

std::uint64_t thread_id() { return static_cast<std::uint64_t>(syscall(SYS_gettid)); }

// Zeros, which is what free entries are. Not by malloc: a callback may come from anywhere.
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
    std::uint64_t nobody = 0;
    if (!owners_[each].compare_exchange_strong(nobody, thread, std::memory_order_acq_rel)) {
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
