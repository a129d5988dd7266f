// What the NCCL plugin costs a job, call by call, opened at run time as NCCL does. An item is what
// one benchmark's comment says: a record, or an event that nobody asked for.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "capture/nccl/plugin/interface.h"
#include "capture/nccl/ring/layout.h"

namespace {

namespace fs = std::filesystem;
using namespace chokepoint::capture::nccl;
using plugin::Descriptor;
using plugin::State;
using plugin::StateArguments;

// A folder in memory, as 'chokepoint run' makes one.
class Folder {
 public:
  Folder() {
    std::string name = fs::is_directory("/dev/shm") ? "/dev/shm/chokepoint-bench-XXXXXX"
                                                    : "chokepoint-bench-XXXXXX";
    folder_ = fs::absolute(mkdtemp(name.data()));
    setenv(kFolderVariable, folder_.c_str(), 1);
    setenv(kNextVariable, "none", 1);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  fs::path folder_;
};

struct Job {
  Folder folder;
  const plugin::Table5* table = nullptr;
  void* context = nullptr;
  int mask = 0;

  Job() {
    void* library = dlopen(CHOKEPOINT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    table = static_cast<const plugin::Table5*>(dlsym(library, "ncclProfiler_v5"));
    table->init(&context, 1, &mask, "bench", 2, 16, 0, nullptr);
  }

  void* start(Descriptor& descriptor) const {
    void* handle = nullptr;
    table->start(context, &handle, &descriptor);
    return handle;
  }
};

Job& job() {
  static Job job;
  return job;
}

Descriptor of_type(std::uint64_t type, void* parent) {
  Descriptor descriptor = {};
  descriptor.type = type;
  descriptor.parent = parent;
  return descriptor;
}

Descriptor a_collective() {
  Descriptor descriptor = of_type(plugin::event::kCollective, nullptr);
  descriptor.collective = {.sequence = 1,
                           .function = "ReduceScatter",
                           .from = nullptr,
                           .to = nullptr,
                           .count = 1'000'000,
                           .root = 0,
                           .datatype = "ncclBfloat16",
                           .channels = 16,
                           .warps = 16,
                           .algorithm = "RING",
                           .protocol = "SIMPLE",
                           .group = nullptr,
                           .variant = nullptr,
                           .is_symmetric = false,
                           .tag = 0};
  return descriptor;
}

Descriptor a_proxy(void* parent) {
  Descriptor descriptor = of_type(plugin::event::kProxy, parent);
  descriptor.proxy = {.process = getpid(),
                      .channel = 3,
                      .peer = 1,
                      .steps = 8,
                      .chunk_bytes = 1 << 19,
                      .is_send = 1};
  return descriptor;
}

// A record each.
void collective(benchmark::State& state) {
  Descriptor descriptor = a_collective();
  for (auto _ : state) {
    job().table->stop(job().start(descriptor));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(collective);

void proxy(benchmark::State& state) {
  Descriptor whole = a_collective();
  Descriptor descriptor = a_proxy(job().start(whole));
  for (auto _ : state) {
    void* handle = job().start(descriptor);
    job().table->record(handle, static_cast<int>(State::ProxyInProgress), nullptr);
    job().table->stop(handle);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(proxy)->Threads(1)->Threads(2);

void kernel(benchmark::State& state) {
  Descriptor whole = a_collective();
  Descriptor descriptor = of_type(plugin::event::kKernel, job().start(whole));
  descriptor.kernel = {.channel = 1, .timer = 5};
  StateArguments arguments = {.timer = 6};
  for (auto _ : state) {
    void* handle = job().start(descriptor);
    job().table->record(handle, static_cast<int>(State::KernelStop), &arguments);
    job().table->stop(handle);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(kernel);

// A step, with its three waits: five calls, and no record of its own.
void step(benchmark::State& state) {
  Descriptor whole = a_proxy(nullptr);
  void* parent = job().start(whole);
  Descriptor descriptor = of_type(plugin::event::kStep, parent);
  StateArguments arguments = {.transferred = 1 << 19};
  for (auto _ : state) {
    void* handle = job().start(descriptor);
    for (const State each : {State::SendGpuWait, State::SendPeerWait, State::SendWait}) {
      job().table->record(handle, static_cast<int>(each), &arguments);
    }
    job().table->stop(handle);
  }
  job().table->stop(parent);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(step);

// An event that NCCL brings along though nobody asked for it.
void unasked(benchmark::State& state) {
  Descriptor descriptor = of_type(plugin::event::kGroupCall, nullptr);
  for (auto _ : state) {
    benchmark::DoNotOptimize(job().start(descriptor));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(unasked);

// What of this is reading the clock.
void clock(benchmark::State& state) {
  for (auto _ : state) {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    benchmark::DoNotOptimize(now);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(clock);

}  // namespace

BENCHMARK_MAIN();
