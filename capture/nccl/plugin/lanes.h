// Where a thread records: the SharedFile has a ring for each thread, and a Lane is a ring together
// with a table of the events that the thread began. A thread takes a lane at its first event,
// without waiting for others, and gives it back when it ends. The table stays: any thread may end
// an event in it.
#pragma once

#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/nccl/plugin/entries.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

// The file that chokepoint reads (capture/nccl/ring/layout.h). It is created once per process, in a
// private folder; room for a ring is reserved before anything is written there, because writing to
// a full file system would kill the job. No descriptor stays open: a job may close descriptors that
// it does not know, and open its own under the same number.
class SharedFile {
 public:
  // False, and nothing is left behind, if anything is not as it should be.
  bool open(const char* folder, int table);
  // The ring, with space reserved; null if there is none. Any thread.
  Ring* reserve(std::size_t ring);

  // Null until it is open.
  File* get() const { return file_.load(std::memory_order_acquire); }

 private:
  bool create(int table);

  std::array<char, 512> path_ = {};
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<File*> file_ = nullptr;
};

struct alignas(64) Lane {
  std::atomic<Entries*> entries = nullptr;
  std::atomic<Ring*> ring = nullptr;  // null: there was no room
  std::uint32_t number = 0;
  // Used by the lane's thread only.
  Shelf lasting = kLasting;
  Shelf brief = kBrief;
};

class Lanes {
 public:
  // Once, before anything else; false if the system has no thread key left.
  bool prepare(SharedFile& file);
  // The calling thread's; null if all are taken, or no memory is left.
  Lane* mine();
  // Of any lane; null if there is none.
  Entry* entry(const Handle& handle);
  // Called in a forked child, which must not write into its parent's rings.
  void disown() { is_disowned_.store(true, std::memory_order_relaxed); }
  bool is_disowned() const { return is_disowned_.load(std::memory_order_relaxed); }

 private:
  static void leave(void* lane);
  Lane* claim();
  bool furnish(Lane& lane);
  void release(Lane& lane);

  SharedFile* file_ = nullptr;
  unsigned key_ = 0;
  std::atomic<bool> is_disowned_ = false;
  std::atomic<std::uint32_t> taken_ = 0;
  std::array<std::atomic<std::uint64_t>, kRings> owners_ = {};
  std::array<Lane, kRings> lanes_ = {};
};
static_assert(kRings == std::size_t{1} << handle::kLaneBits);

}  // namespace chokepoint::capture::nccl::plugin
