// Writes rings as the plugin does, for tests: a file of the layout, records into any of its rings.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl {

class RingWriter {
 public:
  using Words = std::initializer_list<std::pair<std::size_t, std::uint64_t>>;

  explicit RingWriter(const std::filesystem::path& path, std::uint64_t process = 4711) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(File)) != 0) {
      std::abort();
    }
    void* const memory = ::mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (memory == MAP_FAILED) {
      std::abort();
    }
    file_ = static_cast<File*>(memory);
    file_->header.version = kLayoutVersion;
    file_->header.process = process;
    file_->header.table = 5;
    file_->header.magic = kMagic;
  }
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;
  ~RingWriter() { ::munmap(file_, sizeof(File)); }

  File& file() { return *file_; }

  void push(std::size_t ring, Kind kind, std::uint64_t communicator, Words words) {
    Ring& to = file_->rings.at(ring);
    to.thread.store(ring + 1, std::memory_order_relaxed);
    const std::uint64_t record = to.written.load(std::memory_order_relaxed);
    Slot& slot = to.slots.at(record % kSlots);
    slot.number.store(2 * record + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (Word& word : slot.words) {
      word.store(0, std::memory_order_relaxed);
    }
    slot.words[0].store(static_cast<std::uint64_t>(kind) | communicator << 8U,
                        std::memory_order_relaxed);
    for (const auto& [place, value] : words) {
      slot.words.at(place).store(value, std::memory_order_relaxed);
    }
    slot.number.store(2 * (record + 1), std::memory_order_release);
    to.written.store(record + 1, std::memory_order_release);
  }

 private:
  File* file_ = nullptr;
};

}  // namespace chokepoint::capture::nccl
