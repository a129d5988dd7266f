// All that is measured of one GPU. A failure or a stop is noted in the outcome; earlier results
// are kept. One thread, which is moved to the GPU's own processors meanwhile (the processor copies
// memory that is not pinned), and a thread that watches the GPU's links.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/gpu/cuda.h"
#include "base/host/memory.h"
#include "base/host/nvml.h"
#include "base/sys/pages.h"
#include "base/sys/root.h"
#include "probe/pcie/bench.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

struct Node {
  int number = 0;
  std::vector<int> cpus = {};
};

// The nodes that have processors and memory; empty if the kernel shows none.
std::vector<Node> nodes_of(const host::Memory& memory);

// Host memory on this NUMA node, or wherever the kernel puts it. In a container that may not bind
// memory, it is first touched by a thread that runs on the node.
using TakePages =
    std::function<Result<sys::Pages>(std::uint64_t bytes, const std::optional<Node>& node)>;
Result<sys::Pages> take_pages(std::uint64_t bytes, const std::optional<Node>& node);

// The processors that this process may use; a job started from the same shell may use the same.
std::vector<int> allowed_cpus();

// Moves the calling thread to these processors until the destructor; does nothing if it may use
// none of them.
class OnCpus {
 public:
  explicit OnCpus(const std::vector<int>& cpus);
  OnCpus(const OnCpus&) = delete;
  OnCpus& operator=(const OnCpus&) = delete;
  ~OnCpus();
  bool moved() const { return moved_; }

 private:
  cpu_set_t before_{};
  bool moved_ = false;
};

struct SurveyContext {
  std::string driver = "libcuda.so.1";
  std::string nvml = host::nvml::kLibrary;
  sys::Root root = {};
  TakePages take_pages = pcie::take_pages;
  // Called before each measurement: "GPU 0: pinned memory".
  std::function<void(const std::string& what)> on_step = [](const std::string&) {};
};

// `nvml` may be null. `node`: the GPU's; nullopt if it is not known.
GpuOutcome survey_gpu(const gpu::Cuda& gpu, const SurveyContext& host, const Pace& pace,
                      const host::NvmlLinks* nvml, const std::vector<Node>& nodes,
                      const std::optional<int>& node);

// The largest copy up to `wanted` for which the GPU, the host and these NUMA nodes have room.
std::uint64_t fitting_bytes(const gpu::Cuda& gpu, const sys::Root& root, std::uint64_t wanted,
                            const std::vector<int>& nodes = {});

// Watches a device's links while copies run: an idle GPU lowers its own, so only what is seen under
// load counts. A thread of its own reads NVML, and sysfs at every hop, about fifty times a second
// and keeps the best; it ends with the object. The NVML session must outlive it.
class LinkLatch {
 public:
  // `nvml` may be null.
  LinkLatch(sys::Root root, std::string address, const host::NvmlLinks* nvml);
  LinkLatch(const LinkLatch&) = delete;
  LinkLatch& operator=(const LinkLatch&) = delete;
  ~LinkLatch();

  // Set while copies are under way: only these readings count.
  std::atomic<bool>& copying() { return copying_; }
  // Ends the watch.
  LinkSeen stop();

 private:
  void begin();
  void watch();
  void look();
  void note(const host::PciLink& now);

  sys::Root root_;
  std::string address_;
  const host::NvmlLinks* nvml_;
  LinkSeen seen_;
  std::atomic<bool> copying_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace chokepoint::probe::pcie
