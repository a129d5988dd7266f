// The file that chokepoint reads (capture/nccl/ring/layout.h). It is made once a process, in a
// folder that is nobody else's; room for a ring is reserved before anything is written there,
// because writing to a full file system would kill the job. No descriptor is kept: a job may close
// what it does not know, and open its own under the same number.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

class SharedFile {
 public:
  // False, and nothing is left behind, where anything is not as it should be.
  bool open(const char* folder, int table);
  // The ring, with room behind it; null where there is no room. Any thread.
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

}  // namespace chokepoint::capture::nccl::plugin
