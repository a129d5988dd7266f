// What there is once in a process, however many communicators it has. Nothing of it is ever taken
// down: the plugin stays in memory (NCCL closes it after the last communicator, but threads that
// end later still give their lanes back), and a new communicator finds it as it was.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/communicators.h"
#include "capture/nccl/plugin/lanes.h"
#include "capture/nccl/plugin/next.h"
#include "capture/nccl/plugin/shared_file.h"
#include "capture/nccl/plugin/window.h"

namespace chokepoint::capture::nccl::plugin {

struct Process {
  SharedFile file;
  Lanes lanes;
  Communicators communicators;
  Next next;
  Window window;
  std::uint64_t id = 0;                    // as this process sees itself
  std::atomic<bool> is_usable = false;     // threads can be told apart
  std::atomic<std::uint32_t> kernels = 2;  // told of: 0 no, 1 yes; 2: nobody has said so yet
  std::atomic<int> version = 0;            // of the first communicator's interface

  // Makes all of it ready, whoever comes first.
  void begin(int of_version);
  bool is_recording() const { return file.get() != nullptr; }
  void refuse();
  void lose();
};

Process& process();

}  // namespace chokepoint::capture::nccl::plugin
