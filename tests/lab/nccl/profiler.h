// NCCL's side of its profiler interface: opens the plugin that NCCL_PROFILER_PLUGIN names and calls
// its table as NCCL does. Without a plugin every call does nothing. Any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "capture/nccl/plugin/interface.h"

namespace chokepoint::lab {

namespace nccl = capture::nccl::plugin;

class Profiler {
 public:
  Profiler(std::uint64_t id, int ranks, int rank);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;

  void* start_collective(std::uint64_t sequence, std::uint64_t bytes);
  void* start_message(bool is_send, int peer, std::uint64_t bytes);
  void* start_proxy(void* collective, bool is_send, int peer, int steps);
  void* start_step(void* proxy, int number);
  void* start_kernel(void* collective, std::uint64_t gpu_ns);
  void stop_kernel(void* kernel, std::uint64_t gpu_ns);
  void change(void* step, nccl::State state, std::uint64_t transferred = 0);
  void stop(void* handle);

 private:
  void* start(nccl::Descriptor& descriptor);

  const nccl::Table5* table_ = nullptr;
  void* context_ = nullptr;
  int mask_ = 0;  // the plugin's, to be switched while it runs
  int rank_;
};

}  // namespace chokepoint::lab
