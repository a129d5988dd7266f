#include "tests/lab/nccl/profiler.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace chokepoint::lab {

Profiler::Profiler(std::uint64_t id, int ranks, int rank) : rank_(rank) {
  const char* const name = std::getenv("NCCL_PROFILER_PLUGIN");
  void* const library = name == nullptr ? nullptr : ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return;
  }
  table_ = static_cast<const nccl::Table5*>(::dlsym(library, "ncclProfiler_v5"));
  if (table_ == nullptr ||
      table_->init(&context_, id, &mask_, "job", ranks, ranks, rank_, nullptr) != 0) {
    std::fprintf(stderr, "the plugin cannot be used\n");
    table_ = nullptr;
  }
}

Profiler::~Profiler() {
  if (table_ != nullptr) {
    table_->finalize(context_);
  }
}

void* Profiler::start(nccl::Descriptor& descriptor) {
  const auto mask =
      static_cast<std::uint64_t>(std::atomic_ref<int>(mask_).load(std::memory_order_relaxed));
  if (table_ == nullptr || (mask & descriptor.type) == 0) {
    return nullptr;
  }
  descriptor.rank = rank_;
  void* handle = nullptr;
  return table_->start(context_, &handle, &descriptor) == 0 ? handle : nullptr;
}

void* Profiler::start_collective(std::uint64_t sequence, std::uint64_t bytes) {
  nccl::Descriptor descriptor{.type = nccl::event::kCollective,
                              .parent = nullptr,
                              .rank = 0,
                              .collective = {.sequence = sequence,
                                             .function = "AllReduce",
                                             .from = nullptr,
                                             .to = nullptr,
                                             .count = bytes / sizeof(float),
                                             .root = 0,
                                             .datatype = "ncclFloat32",
                                             .channels = 1,
                                             .warps = 4,
                                             .algorithm = "RING",
                                             .protocol = "SIMPLE",
                                             .group = nullptr,
                                             .variant = nullptr,
                                             .is_symmetric = false,
                                             .tag = 0}};
  return start(descriptor);
}

void* Profiler::start_message(bool is_send, int peer, std::uint64_t bytes) {
  nccl::Descriptor descriptor{.type = nccl::event::kMessage,
                              .parent = nullptr,
                              .rank = 0,
                              .message = {.function = is_send ? "Send" : "Recv",
                                          .buffer = nullptr,
                                          .datatype = "ncclFloat32",
                                          .count = bytes / sizeof(float),
                                          .peer = peer,
                                          .channels = 1,
                                          .group = nullptr,
                                          .tag = 0}};
  return start(descriptor);
}

void* Profiler::start_proxy(void* collective, bool is_send, int peer, int steps) {
  nccl::Descriptor descriptor{.type = nccl::event::kProxy,
                              .parent = collective,
                              .rank = 0,
                              .proxy = {.process = ::getpid(),
                                        .channel = 0,
                                        .peer = peer,
                                        .steps = steps,
                                        .chunk_bytes = 1 << 19,
                                        .is_send = is_send ? 1 : 0}};
  return start(descriptor);
}

void* Profiler::start_step(void* proxy, int /*number*/) {
  nccl::Descriptor descriptor{.type = nccl::event::kStep, .parent = proxy, .rank = 0, .kernel = {}};
  return start(descriptor);
}

void* Profiler::start_kernel(void* collective, std::uint64_t gpu_ns) {
  nccl::Descriptor descriptor{.type = nccl::event::kKernel,
                              .parent = collective,
                              .rank = 0,
                              .kernel = {.channel = 0, .timer = gpu_ns}};
  return start(descriptor);
}

void Profiler::stop_kernel(void* kernel, std::uint64_t gpu_ns) {
  if (kernel != nullptr) {
    nccl::StateArguments arguments{.timer = gpu_ns};
    table_->record(kernel, static_cast<int>(nccl::State::KernelStop), &arguments);
    stop(kernel);
  }
}

void Profiler::change(void* step, nccl::State state, std::uint64_t transferred) {
  if (step != nullptr) {
    nccl::StateArguments arguments{.transferred = transferred};
    table_->record(step, static_cast<int>(state), &arguments);
  }
}

void Profiler::stop(void* handle) {
  if (handle != nullptr) {
    table_->stop(handle);
  }
}

}  // namespace chokepoint::lab
