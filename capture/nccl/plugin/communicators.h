// The communicators that a process has, and what NCCL gets for each as its context. Any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/handle.h"
#include "capture/nccl/plugin/next.h"
#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

struct Communicator {
  Word state;   // the use, and whether it is one
  Word number;  // in records
  Word version;
  std::atomic<int*> mask = nullptr;  // NCCL's own word
  Word switch_at_ns;                 // when the mask is to be looked at again
  Word sends;
  Word receives;
  // What the next profiler made of it; no table: it has no part in this one.
  std::atomic<NextTable*> next = nullptr;
  std::atomic<void*> next_context = nullptr;
};

class Communicators {
 public:
  static constexpr std::size_t kCommunicators = 512;

  // The place is the caller's until publish(); null where there is none.
  Communicator* add();
  // Its handle: what NCCL gets.
  std::uint64_t publish(Communicator& communicator);
  // Null where nobody, or no longer, has this handle.
  Communicator* find(std::uint64_t handle);
  // True for the one caller that ends it; then remove() must follow.
  bool leave(std::uint64_t handle);
  // Whether it was the last one.
  bool remove(Communicator& communicator);

 private:
  std::atomic<std::uint32_t> numbers_ = 0;
  std::atomic<std::uint32_t> living_ = 0;
  std::array<Communicator, kCommunicators> communicators_ = {};
};

}  // namespace chokepoint::capture::nccl::plugin
