// What exists once per process, however many communicators it has. It is never destroyed: the
// plugin stays in memory (NCCL closes it after the last communicator, but threads that end later
// still give their lanes back), and a new communicator finds it as it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/clocks.h"
#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/events.h"
#include "capture/nccl/plugin/lanes.h"
#include "capture/nccl/plugin/message_counts.h"
#include "capture/nccl/plugin/next.h"

namespace chokepoint::capture::nccl::plugin {

struct Process {
  SharedFile file;
  Lanes lanes;
  Communicators communicators;
  MessageCounts messages;
  Next next;
  Window window;
  Choice choice;                           // by the first communicator, for all
  std::uint64_t began_ns = 0;              // when the plugin was called first
  std::uint64_t id = 0;                    // as this process sees itself
  std::atomic<bool> is_usable = false;     // threads have keys
  std::atomic<std::uint32_t> kernels = 2;  // whether they are recorded: 0 no, 1 yes, 2 not decided
  std::atomic<int> version = 0;            // of the first communicator's interface
  std::atomic<const void*> caller = nullptr;  // of the first communicator

  // The first call prepares everything.
  void begin(int of_version, const void* caller);
  bool is_recording() const { return file.get() != nullptr; }
  void refuse();  // counts a call that makes no sense
  void lose();    // counts a record that found no room
};

Process& process();

}  // namespace chokepoint::capture::nccl::plugin
