// What the made-up libcuda.so.1 remembers, and how its environment shapes it:
//
//   FAKE_CUDA          what it lacks: "gpus", "memory", "dmabuf", "peers"
//   FAKE_CUDA_GPUS     how many GPUs: 1
//   FAKE_CUDA_ENGINES  copies at the same time on each GPU: 2
//   FAKE_CUDA_RATES    MB/s: "to=50000,from=50000,pageable=5000,far=30000,peer=40000,staged=6000",
//                      and both=1.0, the share of its rate that a copy keeps while
//                      one runs the other way
//   FAKE_CUDA_FAIL     N: the Nth call from now on fails, once
//   FAKE_CUDA_FLIP     N: every Nth asynchronous copy to a GPU flips its last byte
//   FAKE_CUDA_NAP_US   how long each wait for an event really takes: 0
//   FAKE_CUDA_BUSY     no event that is asked for is ever over
//
// Memory of a GPU is the host's, copies are real and at once; the time they take is made up, by a
// clock of each stream and of each GPU's engines.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace fake_cuda {

struct Gpu {
  int contexts = 0;
  double engine_free_us[2] = {0, 0};  // towards the GPU, away from it
  std::set<int> reaches;
};

struct Stream {
  int gpu = 0;
  double now_us = 0;
};

struct Event {
  bool recorded = false;
  double at_us = 0;
};

struct Range {
  std::uint64_t bytes = 0;
  int gpu = 0;
};

struct State {
  std::mutex mutex;
  Gpu gpus[16];
  std::map<std::uint64_t, Range> memory;
  std::map<std::uint64_t, std::uint64_t> pinned;
  std::map<std::uint64_t, std::uint64_t> far;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::string fail;
  double host_us = 0;  // no stream is behind what the host has waited for
  long calls = 0;
  long copies = 0;
};

State& state();
bool lacks(const char* what);
int gpu_count();
double number(const char* variable, const char* key, double otherwise);
// The code that a call gives at its start: 0, or an error that was asked for.
int begin();
int current_gpu();  // of the calling thread's context; -1 for none

}  // namespace fake_cuda
